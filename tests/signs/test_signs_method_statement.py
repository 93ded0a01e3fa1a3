"""The figures that the method statement quotes are those of the data."""

import re


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
