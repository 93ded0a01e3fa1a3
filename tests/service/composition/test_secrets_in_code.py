"""What no single behaviour shows: how the service's code treats secrets."""

import ast
import re
from pathlib import Path

SERVICE = Path(__file__).parents[3] / "src" / "vbdesk" / "service"
SECRET = re.compile(r"(hash|signature|token|digest|secret|api_key|secret_key)$")


def comparisons_of_secrets(source: str) -> list[str]:
    """Comparisons by `==` or `!=` of what bears a secret's name: they end at the first difference."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare) and any(isinstance(how, ast.Eq | ast.NotEq) for how in node.ops):
            names = [getattr(side, "attr", getattr(side, "id", "")) for side in (node.left, *node.comparators)]
            in_sql = any(
                isinstance(side, ast.Attribute) and _is_column(side) for side in (node.left, *node.comparators)
            )
            if not in_sql and any(SECRET.search(name) for name in names):
                found.append(ast.unparse(node))
    return found


def _is_column(side: ast.Attribute) -> bool:
    return isinstance(side.value, ast.Attribute) and side.value.attr == "c"  # looked up by hash in an index


def test_secrets_are_compared_in_constant_time():
    assert comparisons_of_secrets("given.token == stored") == ["given.token == stored"]
    found = {
        path.relative_to(SERVICE).as_posix(): comparisons
        for path in SERVICE.rglob("*.py")
        if (comparisons := comparisons_of_secrets(path.read_text(encoding="utf-8")))
    }
    assert found == {}
