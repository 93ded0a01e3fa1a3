"""The console in a real browser: with the keyboard alone, on a narrow screen, with large text, light and dark."""

import re

import pytest
from browser import Browser, missing_programs

from vbdesk.clock import SystemClock

if missing := missing_programs():
    pytest.skip(f"needs {' and '.join(missing)}", allow_module_level=True)

TAB, ENTER = "\ue004", "\ue007"
PAGES = ["/console", "/console/keys", "/console/webhook", "/console/webhook/remove", "/console/nothing"]

FAINT_TEXTS = """
const numbers = colour => colour.match(/[\\d.]+/g).map(Number);
const luminance = ([r, g, b]) => {
  const [x, y, z] = [r, g, b].map(v => v / 255).map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
  return .2126 * x + .7152 * y + .0722 * z;
};
const ground = element => {
  for (let at = element; at; at = at.parentElement) {
    const colour = numbers(getComputedStyle(at).backgroundColor);
    if (colour.length === 3 || colour[3] === 1) return colour;
  }
  return [255, 255, 255];
};
return [...document.querySelectorAll('body *')]
  .filter(e => e.checkVisibility() && [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()))
  .map(e => {
    const [a, b] = [numbers(getComputedStyle(e).color), ground(e)].map(luminance);
    return [(Math.max(a, b) + .05) / (Math.min(a, b) + .05), e.tagName + ' ' + e.textContent.trim().slice(0, 40)];
  })
  .filter(([ratio]) => ratio < 4.5);
"""
STRUCTURE_FAULTS = """
const headings = [...document.querySelectorAll('h1, h2, h3')].map(h => Number(h.tagName[1]));
const faults = [];
if (headings.filter(level => level === 1).length !== 1) faults.push('not one h1');
if (headings.some((level, at) => at && level > headings[at - 1] + 1)) faults.push('a heading level is left out');
for (const field of document.querySelectorAll('input:not([type=hidden])'))
  if (field.labels.length !== 1) faults.push('no label: ' + field.name);
for (const act of document.querySelectorAll('a, button'))
  if (!(act.ariaLabel || act.textContent.trim())) faults.push('no name: ' + act.outerHTML);
if (!document.documentElement.lang || !document.querySelector('main')) faults.push('no language or main part');
return faults;
"""
CUT = """
const apart = '.hidden, .skip, thead, input';
return [...document.querySelectorAll('body *')]
  .filter(e => e.checkVisibility() && !e.closest(apart) && getComputedStyle(e).display !== 'inline')
  .filter(e => e.scrollWidth > e.clientWidth + 1 || e.getBoundingClientRect().left < -1
    || e.getBoundingClientRect().right > innerWidth + 1)
  .map(e => e.tagName + ' ' + e.textContent.trim().slice(0, 40));
"""
SIDEWAYS = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
FOCUS = "return [document.activeElement.id, getComputedStyle(document.activeElement).outlineStyle]"


@pytest.fixture
def service(start_service):
    return start_service(clock=SystemClock())


@pytest.fixture
def open_browser(tmp_path):
    browsers = []

    def start(**choices) -> Browser:
        browsers.append(Browser(tmp_path / f"profile-{len(browsers)}", **choices))
        return browsers[-1]

    yield start
    for browser in browsers:
        browser.close()


def sign_in(browser: Browser, service, account) -> None:
    browser.open(f"{service.base_url}/console")
    browser.type("#account_id", account.account_id)
    browser.type("#secret_key", account.secret_key)
    browser.follow("main button")
    assert account.account_id in browser.text("main")


def tab_to(browser: Browser, selector: str) -> None:
    for _ in range(30):
        browser.press(TAB)
        if browser.run(f"return document.activeElement.matches({selector!r})"):
            return
    raise AssertionError(f"the keyboard does not reach {selector}")


def press_on(browser: Browser, selector: str) -> None:
    """Go to what `selector` names with the keyboard alone, and press Enter on it."""
    tab_to(browser, selector)
    assert browser.run(FOCUS)[1] == "solid"
    browser.leave(lambda: browser.press(ENTER))


def test_a_key_is_made_used_and_revoked_with_the_keyboard_alone(service, account, open_browser):
    browser = open_browser()
    browser.open(f"{service.base_url}/console")
    tab_to(browser, "#account_id")
    browser.press(*account.account_id, TAB, *account.secret_key)
    browser.leave(lambda: browser.press(ENTER))
    assert browser.text("h1") == "Overview"
    assert "100,000" in browser.text("main")
    [cookie] = browser.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"], browser.run("return document.cookie")) == (True, "Strict", "")

    press_on(browser, "nav a[href$='/keys']")
    tab_to(browser, "#name")
    browser.press(*"Study laptop")
    browser.leave(lambda: browser.press(ENTER))
    [key] = re.findall(r"vbk_[\w-]+", browser.text("main"))
    headers = {"X-Account-ID": account.account_id, "X-API-Key": key}
    assert service.client().get("/v2/account/credits", headers=headers).status_code == 200

    press_on(browser, "main a.button")
    assert "vbk_" not in browser.text("main")
    press_on(browser, "a[aria-label='Revoke the key “Study laptop”']")
    assert browser.text("h1") == "Revoke the key “Study laptop”?"
    press_on(browser, "main button")
    assert "The key is revoked." in browser.text("[role=status]")
    assert service.client().get("/v2/account/credits", headers=headers).status_code == 401

    press_on(browser, ".sign-out button")
    assert "You are signed out." in browser.text("main")
    browser.open(f"{service.base_url}/console/keys")
    assert browser.text("h1") == "Sign in"
    assert not [line for line in browser.complaints() if "Content Security Policy" in line]


def test_a_wrong_address_is_pointed_out_where_it_was_entered(service, account, open_browser):
    browser = open_browser()
    sign_in(browser, service, account)
    browser.open(f"{service.base_url}/console/webhook")
    browser.type("#url", "http://10.0.0.1/hook")
    browser.type("#secret_key", "a secret")
    browser.follow("main button")
    assert browser.run(FOCUS) == ["url", "solid"]
    assert browser.run("return document.activeElement.getAttribute('aria-describedby')") == "url_help url_error"
    assert browser.text("#url_error").endswith(
        "The address leads into a private network. Give a publicly reachable one."
    )
    browser.type("#url", "http://93.184.216.34/hook")
    browser.type("#secret_key", "a secret")
    browser.follow("main button")
    assert "Finished jobs will be reported to this address." in browser.text("[role=status]")


def test_a_language_is_chosen_with_the_keyboard_alone(service, account, open_browser):
    browser = open_browser(language="de-AT,de")
    browser.open(f"{service.base_url}/console")
    assert browser.text("h1") == "Anmelden"
    press_on(browser, "button[value=ar]")
    assert browser.text("h1") == "تسجيل الدخول"
    assert browser.run("return getComputedStyle(document.querySelector('h1')).direction") == "rtl"
    sign_in(browser, service, account)
    assert browser.text("h1") == "نظرة عامة"
    left = "return document.querySelector('.sign-out').getBoundingClientRect().left < innerWidth / 2"
    assert browser.run(left)  # the header is mirrored
    assert browser.run("return getComputedStyle(document.querySelector('main code')).direction") == "ltr"
    press_on(browser, "button[value=de]")
    assert browser.text("h1") == "Überblick"
    assert not browser.run(left)
    assert not [line for line in browser.complaints() if "Content Security Policy" in line]


@pytest.mark.parametrize(
    ("dark", "text_scale", "language"),
    [
        (False, 1.0, "en"),
        (True, 2.0, "en"),
        (False, 1.0, "de"),
        (True, 1.0, "fr"),
        (False, 1.0, "es"),
        (True, 1.0, "pt-BR"),
        (False, 1.0, "ar"),
        (True, 1.0, "en-XA"),
    ],
)
def test_pages_are_readable(service, account, bench, deliver, open_browser, dark, text_scale, language):
    url = "https://93.184.216.34/a-rather-long-path/that-must-find-room/on-a-narrow-screen"
    answer = service.client(account).post("/v2/account/webhook", json={"url": url, "secret_key": "s"})
    assert answer.status_code == 200
    bench.finish(bench.submit())
    assert deliver() == 1
    browser = open_browser(dark=dark, text_scale=text_scale, language=language)
    sign_in(browser, service, account)
    assert browser.run("return matchMedia('(prefers-color-scheme: dark)').matches") is dark
    assert browser.run("return getComputedStyle(document.body).fontSize") == f"{16 * text_scale:g}px"
    for path in PAGES:
        browser.open(service.base_url + path)
        assert browser.run(STRUCTURE_FAULTS) == [], path
        assert browser.run(FAINT_TEXTS) == [], path
        assert browser.run("return document.documentElement.lang") == language
        for width in (320, 400, 961, 1280):
            browser.resize(width, 800)
            assert browser.run(SIDEWAYS) == 0, (path, width)
            assert browser.run(CUT) == [], (path, width)
    assert not [line for line in browser.complaints() if "Content Security Policy" in line]
