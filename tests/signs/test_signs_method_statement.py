"""The figures that the method statement quotes are those of the data."""

import re
import tomllib

from vbdesk.resource_files import resource
from vbdesk.signs.passage import HOP_S, WINDOW_S


def test_flag_rates_in_the_method_statement_are_those_of_the_calibration(request, calibration):
    text = (request.config.rootpath / "docs" / "method-analysis.md").read_text(encoding="utf-8")
    quoted = {
        name: (float(native), float(second))
        for name, native, second in re.findall(r"^\| (\w+) \| ([\d.]+) % \| ([\d.]+) % \|$", text, re.MULTILINE)
    }
    assert quoted == {
        model.value: (
            round(100 * rates.healthy_native.any_flagged, 1),
            round(100 * rates.healthy_second_language.any_flagged, 1),
        )
        for model, rates in calibration.models.items()
    }
    assert f"calibration {calibration.meta.version}." in text


def test_extended_metrics_are_described_as_their_data_has_them(request, reference):
    text = (request.config.rootpath / "docs" / "method-analysis.md").read_text(encoding="utf-8")
    page = " ".join(text.split())
    rules = reference.metrics.rules
    data = tomllib.loads(resource("metrics", "metrics.toml").read_text(encoding="utf-8"))
    assert (data["meta"]["window_seconds"], data["meta"]["hop_seconds"]) == (WINDOW_S, HOP_S)
    assert (
        f"windows of {WINDOW_S:g} s, {HOP_S:g} s apart, that hold at least {rules.min_speech_seconds_per_window:g} s"
        in page
    )
    assert f"score = logistic({rules.slope:g} x index)" in page
    assert f"less than {100 * rules.min_weight_available:g} % of its weight" in page
    assert [model.value for model, names in reference.metrics.carry.items() if not names] == ["tide"]


def test_a_definition_with_an_author_has_its_source_in_the_norms(request, reference):
    text = (request.config.rootpath / "docs" / "method-analysis.md").read_text(encoding="utf-8")
    table = text.partition("| Feature | Unit | Definition | After |")[2].partition("\n\n")[0]
    after_somebody = set()
    for row in table.splitlines():
        names, *_, after = (
            row.strip("| ").split(" | ") if row.count(" | ") == 3 and not row.endswith("| |") else ("", "")
        )
        names = re.sub(r"`(_\d_)`", r"`formant\1mean`", names)
        after_somebody.update(re.findall(r"`(\w+)`", names) if after else [])
    assert after_somebody == {name for name, norm in reference.norms.features.items() if norm.method_cites}


def test_the_statement_on_repeats_agrees_with_its_table(request):
    text = (request.config.rootpath / "docs" / "method-analysis.md").read_text(encoding="utf-8")
    shares = [int(share) for share in re.findall(r"(\d+) % between people \| reported", text)]
    assert len(shares) == 21
    assert f"{min(shares)} to {max(shares)} % of the variance of a sign lies between people" in text
