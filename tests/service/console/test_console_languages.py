"""The console in the language of its reader: how it is chosen, that it is whole, and that it is the request's own."""

import asyncio
import html
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse

from patience import HANGS_S
from vbdesk.language import Language, _, available_languages, current, use
from vbdesk.service.console import overview_routes
from vbdesk.service.console.language_routes import ReadersLanguage, asked_for

PUBLIC = "https://93.184.216.34/hook"
SIGN_IN = {
    "en": "Sign in",
    "ar": "تسجيل الدخول",
    "de": "Anmelden",
    "es": "Iniciar sesión",
    "fr": "Se connecter",
    "pt-BR": "Entrar",
}


def heading(page):
    (found,) = re.findall(r"<h1>(.*?)</h1>", page.text, re.DOTALL)
    return html.unescape(found)


@pytest.fixture
def speak(person):
    """Let the signed-in person's browser ask for a language."""

    def ask(language):
        person.client.headers["Accept-Language"] = language
        return person

    return ask


@pytest.mark.parametrize(
    ("header", "regions"),
    [
        ("", []),
        ("de", ["de"]),
        ("fr-CH, fr;q=0.9, en;q=0.8, *;q=0.5", ["fr_CH", "fr", "en_GB"]),
        ("nl, de-AT;q=0.4, es;q=0.7", ["es", "de_AT"]),
        ("PT", ["pt_BR"]),
        ("pt-PT", ["pt_PT"]),
        ("de;q=0, fr;q=0.001", ["fr"]),
        ("de ; q=0.3 , ar", ["ar", "de"]),
        ("de;q=2, fr;q=x, es;level=1, ar;q=0.5", ["ar"]),
        ("zh-Hant-TW, de-Latn-CH-1996", ["de_CH"]),
        ("de_AT, ../../de, de-" + "x" * 2000 + ", \0", ["de"]),
        (", ".join(["nl"] * 20) + ", de", []),
    ],
)
def test_the_best_language_of_the_header_is_shown(header, regions):
    assert [language.region for language in asked_for(header)] == regions


@pytest.mark.parametrize("tag", SIGN_IN)
def test_a_page_says_its_language_and_direction_to_browsers_and_caches(make_person, tag):
    person = make_person()
    person.client.headers["Accept-Language"] = f"{tag}, en;q=0.1"
    page = person.open("/console")
    assert heading(page) == SIGN_IN[tag]
    assert f'<html lang="{tag}" dir="{"rtl" if tag == "ar" else "ltr"}">' in page.text
    assert page.headers["Content-Language"] == tag
    assert {part.strip() for part in page.headers["Vary"].split(",")} == {"Accept-Language", "Cookie"}
    assert page.headers["Cache-Control"] == "no-store"


def test_a_reader_without_a_translation_reads_english(make_person):
    for header in ("nl, tlh", "*", ""):
        person = make_person()
        person.client.headers["Accept-Language"] = header
        assert heading(person.open("/console/sign-in")) == "Sign in"


def choose(person, tag):
    return person.send("/console/language", language=tag)


def test_a_choice_wins_over_the_browser_before_and_after_sign_in(make_person, account):
    person = make_person()
    person.client.headers["Accept-Language"] = "fr"
    assert heading(person.open("/console/sign-in")) == "Se connecter"
    page = choose(person, "de")
    assert str(page.url).endswith("/console/sign-in")
    assert heading(page) == "Anmelden"
    assert '<button type="submit" name="language" value="de" lang="de"' in page.text
    assert heading(person.sign_in(account)) == "Überblick"
    person.open("/console/keys")
    page = choose(person, "ar")
    assert str(page.url).endswith("/console/keys")
    assert page.headers["Content-Language"] == "ar"
    person.open("/console/webhook")
    assert str(choose(person, "pt-BR").url).endswith("/console/webhook")
    assert heading(person.open()) == "Visão geral"


def test_every_language_is_offered_by_its_own_name(make_person):
    text = make_person().open("/console/sign-in").text
    offered = re.findall(r'name="language" value="([\w-]+)" lang="\1"[^>]*>([^<]+)<', text)
    assert dict(offered) == {
        "ar": "العربية",
        "de": "Deutsch",
        "en": "English",
        "es": "Español",
        "fr": "Français",
        "pt-BR": "Português (Brasil)",
    }
    assert {tag.replace("-", "_") for tag, _name in offered} == set(available_languages())


def test_a_choice_keeps_the_region_that_the_browser_names(speak):
    person = speak("en-US, de-AT")
    person.open("/console/keys")
    assert "Mar 1, 2026, 9:30\u202fAM" in person.page.text
    page = choose(person, "de")
    assert page.headers["Content-Language"] == "de"
    assert "1. März 2026" not in page.text
    assert "01.03.2026, 09:30" in page.text


def test_numbers_have_the_form_of_the_region(speak):
    assert "100.000" in speak("de").open("/console").text
    assert "100\u202f000" in speak("fr").open("/console").text


def test_the_cookie_of_the_choice_has_the_flags_of_the_sessions(make_person):
    person = make_person()
    person.open("/console/sign-in")
    fields = {**person.form("/console/language").fields, "language": "de"}
    (plain,) = person.client.post("/console/language", data=fields).headers.get_list("set-cookie")
    assert plain.startswith("vbdesk-language=de; ")
    assert {"HttpOnly", "SameSite=strict", "Path=/", "Max-Age=31536000"} <= set(plain.split("; "))
    person.client.headers["X-Forwarded-Proto"] = "https"
    person.open("/console/sign-in")  # another cookie ties the forms over HTTPS
    token = {"Cookie": f"__Host-vbdesk-visitor={person.client.cookies['__Host-vbdesk-visitor']}"}
    fields = {**person.form("/console/language").fields, "language": "de"}
    (secure,) = person.client.post("/console/language", data=fields, headers=token).headers.get_list("set-cookie")
    assert secure.startswith("__Host-vbdesk-language=de; ")
    assert "Secure" in secure.split("; ")


@pytest.mark.parametrize("signed_in", [False, True])
def test_a_choice_needs_a_form_of_this_browser(make_person, account, signed_in):
    person, other = make_person(), make_person()
    for each in (person, other):
        each.sign_in(account) if signed_in else each.open("/console/sign-in")
    stolen = other.form("/console/language").fields
    for token in ("", "0" * 64, stolen["form_token"]):
        answer = person.post("/console/language", {**stolen, "form_token": token, "language": "de"})
        assert answer.status_code == 403
        assert "vbdesk-language" not in person.client.cookies


def test_a_choice_leads_nowhere_else_and_to_languages_only(person):
    person.open("/console/keys")
    fields = person.form("/console/language").fields
    for here in ("https://evil.example/", "//evil.example", "../v2", ""):
        answer = person.client.post("/console/language", data={**fields, "here": here, "language": "de"})
        assert answer.headers["location"] == "/console"
    for language in ("", "xx", "nl", "../../etc/passwd", "de" * 5000, "ä"):
        assert person.post("/console/language", {**fields, "language": language}).status_code == 400


def test_a_cookie_that_names_no_language_is_ignored(service):
    for value in ("xx", "../de", "de" * 2000, ""):
        answer = service.client().get(
            "/console/sign-in", headers={"Accept-Language": "fr", "Cookie": f"vbdesk-language={value}"}
        )
        assert answer.headers["Content-Language"] == "fr"


def test_a_new_key_is_not_lost_by_choosing_a_language(person):
    person.open("/console/keys")
    page = person.send("/console/keys", name="Study laptop")
    assert "vbk_" in page.text
    assert "/console/language" not in page.text


def test_two_requests_at_the_same_time_have_a_language_each(make_person, account, monkeypatch):
    people = {}
    for tag in ("de", "ar"):
        people[tag] = make_person()
        people[tag].sign_in(account)
        people[tag].client.headers["Accept-Language"] = tag
    both_inside, read = threading.Barrier(2), overview_routes.read_usage

    def read_together(*arguments):
        both_inside.wait(HANGS_S)
        usage = read(*arguments)
        both_inside.wait(HANGS_S)
        return usage

    monkeypatch.setattr(overview_routes, "read_usage", read_together)
    before = current()
    with ThreadPoolExecutor(2) as threads:
        pages = dict(zip(people, threads.map(lambda each: each.open("/console"), people.values()), strict=True))
    assert {tag: heading(page) for tag, page in pages.items()} == {"de": "Überblick", "ar": "نظرة عامة"}
    for tag, page in pages.items():
        assert page.headers["Content-Language"] == tag
        assert f'<html lang="{tag}"' in page.text
    assert "100.000" in pages["de"].text
    assert current() == before


def test_two_tasks_of_one_loop_have_a_language_each():
    told = {}

    async def ask(tag, both_inside):
        async def answer(scope, receive, send):
            for _turn in range(3):
                await both_inside.wait()
            in_a_thread = await asyncio.to_thread(_, "Sign in")
            await PlainTextResponse(f"{_('Sign in')}|{in_a_thread}")(scope, receive, send)

        async def send(message):
            told[tag] = told.get(tag, b"") + message.get("body", b"")

        scope = {"type": "http", "method": "GET", "path": "/", "headers": [(b"accept-language", tag.encode())]}
        await ReadersLanguage(answer)(scope, Request(scope).receive, send)

    async def both():
        both_inside = asyncio.Barrier(2)
        await asyncio.gather(*(ask(tag, both_inside) for tag in ("de", "fr")))

    before = current()
    asyncio.run(both())
    assert {tag: body.decode() for tag, body in told.items()} == {
        "de": "Anmelden|Anmelden",
        "fr": "Se connecter|Se connecter",
    }
    assert current() == before


def test_a_text_is_not_kept_in_the_language_that_came_first(speak):
    link = "/console/sign-in?notice=ended"
    assert "Your session has ended." in speak("en").open(link).text
    assert "Ihre Sitzung ist beendet." in speak("de").open(link).text
    assert "Name" in speak("en").open("/console/keys").text
    assert 'data-label="الاسم"' in speak("ar").open("/console/keys").text


def test_the_language_of_the_process_does_not_reach_the_console_or_the_api(make_person, client):
    before = current()
    use(Language("de", "de"))
    try:
        assert heading(make_person().open("/console/sign-in")) == "Sign in"
        refused = client.post("/v2/account/webhook", json={"url": "http://10.0.0.1/", "secret_key": "s"})
        assert "The address leads into a private network." in refused.text
    finally:
        use(before)


def test_refusals_are_translated_in_the_console_and_english_in_the_api(service, speak, account, bench):
    person = speak("de")
    page = person.open("/console/nothing")
    assert page.status_code == 404
    assert heading(page) == "Seite nicht gefunden"
    assert "Unter diesem Namen gibt es nichts. Prüfen Sie die Adresse." in page.text
    person.open("/console/keys")
    page = person.send("/console/keys", name="")
    assert "Geben Sie dem Schlüssel einen Namen mit 1 bis 200 Zeichen." in page.text
    page = person.post("/console/keys", {"name": "x"})
    assert heading(page) == "Das Formular wurde abgelehnt"
    person.open("/console/webhook")
    page = person.send("/console/webhook", url="http://10.0.0.1/", secret_key="s")
    assert "Die Adresse führt in ein privates Netz." in page.text
    client = service.client(account)
    client.headers["Accept-Language"] = "de"
    answer = client.post("/v2/account/webhook", json={"url": "http://10.0.0.1/", "secret_key": "s"})
    assert "The address leads into a private network." in answer.text
    assert "Content-Language" not in answer.headers
    person.open("/console/webhook")
    person.send("/console/webhook", url=PUBLIC, secret_key="s")
    bench.finish(bench.submit())
    token = person.forms()[0].fields["form_token"]
    path = f"/console/webhook/deliveries/{bench.deliveries()[-1].delivery_id}/redeliver"
    page = person.post(path, {"form_token": token})
    assert page.status_code == 409
    assert "Diese Zustellung wird bereits versucht." in page.text
    person.open("/console/webhook/remove")
    assert "Der Webhook wurde entfernt." in person.send("/console/webhook/remove").text


def test_a_limit_is_told_with_its_time_in_the_readers_language(speak):
    person = speak("fr")
    while (page := person.client.get("/console/keys")).status_code == 200:
        pass
    seconds = page.headers["Retry-After"]
    assert (page.status_code, heading(page)) == (429, "Trop de requêtes")
    assert f"Trop de requêtes. Réessayez dans {seconds} s." in page.text


@pytest.mark.parametrize("tag", [*SIGN_IN, "en-XA"])
def test_values_stay_escaped_in_every_language(speak, tag):
    person = speak(tag)
    person.open("/console/keys")
    person.send("/console/keys", name='<script>alert("{name}")</script>&amp;')
    listed = person.open("/console/keys").text
    assert "&lt;script&gt;alert(&#34;{name}&#34;)&lt;/script&gt;&amp;amp;" in listed
    questions = [person.open(link).text for link in re.findall(r'href="(/console/keys/[^"]+/revoke)"', listed)]
    assert any("&lt;script&gt;alert(&#34;{name}&#34;)" in question for question in questions)
    person.open("/console/webhook")
    refused = person.send("/console/webhook", url='https://93.184.216.34/"><script>x</script>', secret_key="s").text
    assert "&lt;script&gt;" in refused or "%3Cscript%3E" in refused
    removal = person.open("/console/webhook/remove").text
    for text in (listed, *questions, refused, removal):
        assert "<script" not in text
        assert 'alert("' not in text


def test_ids_keys_and_addresses_keep_their_direction_in_arabic(speak, account, bench):
    person = speak("ar")
    assert f'<code dir="ltr">{account.account_id}</code>' in person.open("/console").text
    person.open("/console/keys")
    created = person.send("/console/keys", name="ward-4").text
    assert re.search(r'<code dir="ltr" class="whole" id="api-key">vbk_[\w-]+</code>', created)
    assert '<code dir="ltr">X-API-Key</code>' in created
    assert "<bdi>ward-4</bdi>" in created
    person.open("/console/webhook")
    person.send("/console/webhook", url=PUBLIC, secret_key="s")
    job_id = bench.submit()
    bench.finish(job_id)
    text = person.open("/console/webhook").text
    assert f'<code dir="ltr">{job_id}</code>' in text
    assert f"\u2068{PUBLIC}\u2069" in text
    assert text.count('<input id="url" name="url" type="url"') == text.count('dir="ltr" required maxlength') == 1
    assert f'<code dir="ltr">{PUBLIC}</code>' in person.open("/console/webhook/remove").text


class _Texts(HTMLParser):
    """What a page says to people: text, titles and labels; without ids, names, times and names of languages."""

    VALUES = ("code", "bdi", "time", "style")
    SPOKEN = ("aria-label", "title", "placeholder", "alt", "data-label")

    def __init__(self):
        super().__init__()
        self.found, self._inside = [], []

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.found += [given[name] for name in self.SPOKEN if given.get(name)]
        if tag not in ("meta", "link", "input", "img", "rect"):
            self._inside.append("code" if given.get("name") == "language" else tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        self._inside.pop()

    def handle_data(self, data):
        if not set(self._inside) & set(self.VALUES):
            self.found.append(data.strip())


def unmarked(page):
    """Texts of a page in the pseudo-language that did not go through the catalog."""
    texts = _Texts()
    texts.feed(page)
    assert len(texts.found) > 5
    return [
        text
        for text in texts.found
        if re.search(r"[A-Za-z]{2}", text)
        and not re.search(r"[\[\]áéïöûýçñÁÉÏÖÛÝÇÑ]", text)
        and not text.startswith("https://")
    ]


def test_every_text_of_every_page_goes_through_the_catalog(speak, make_person, account, bench, deliver, sender):
    person = speak("en-XA")
    visited = {"overview, unused": person.open("/console"), "webhook, unset": person.open("/console/webhook")}
    visited["set"] = person.send("/console/webhook", url=PUBLIC, secret_key="s")
    sender.answers = [500, OSError(), 204]
    for _number in range(3):
        bench.finish(bench.submit())
        deliver()
    bench.finish(bench.submit())
    for path in ("", "/keys", "/webhook", "/webhook/remove", "/nothing"):
        visited[path] = person.open(f"/console{path}")
    (revoke,) = set(re.findall(r'href="(/console/keys/[^"]+/revoke)"', visited["/keys"].text))
    visited["revoke"] = person.open(revoke)
    visited["revoked"] = person.send(revoke)
    visited["unnamed"] = person.send("/console/keys", name="")
    visited["created"] = person.send("/console/keys", name="7")
    person.open("/console/webhook")
    visited["unsigned"] = person.send("/console/webhook", url=PUBLIC, secret_key="")
    visited["private"] = person.send("/console/webhook", url="http://10.0.0.1/", secret_key="s")
    visited["no address"] = person.send("/console/webhook", url="x", secret_key="s")
    visited["no form"] = person.post("/console/keys", {})
    visited["no method"] = person.client.put("/console/keys")
    stranger = make_person()
    stranger.client.headers["Accept-Language"] = "en-XA"
    visited["signed out"] = stranger.open("/console/sign-in?notice=signed-out")
    visited["wrong"] = stranger.send("/console/sign-in", account_id="1", secret_key="2")
    assert {name: found for name, page in visited.items() if (found := unmarked(page.text))} == {}
    assert "1 Mar 2026" in visited[""].text  # there was something to show
    assert "HTTP 500" in visited["/webhook"].text


def test_a_text_that_is_not_marked_is_found():
    page = "<h1>[Ö]</h1><p>[á] <code>as it is</code> [é]</p><p title='hard coded'>Not marked</p><a>[ó]</a><b>7 h</b>"
    assert unmarked(page) == ["hard coded", "Not marked"]
