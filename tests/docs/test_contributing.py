"""The recipe for a method makes a method, and pages name modules that exist."""

from __future__ import annotations

import importlib
import pkgutil
import re
from pathlib import Path

import pytest
from sklearn.base import clone

import superproto
from superproto import load_model
from superproto.baselines import registry
from superproto.datasets import make_task

FILE_ENDINGS = ("html", "jsonl", "zarr")
ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "superproto"
# The changelog speaks of names of its time.
PAGES = [
    path.relative_to(ROOT).as_posix()
    for path in (*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")))
    if path.name != "CHANGELOG.md"
]


@pytest.fixture
def recipe(tmp_path, monkeypatch):
    """The file of the recipe as a module, and its line in the registry."""
    text = (ROOT / "docs" / "development" / "add-a-method.md").read_text(encoding="utf-8")
    block = re.search(r"```python\n(.*?)```", text, re.S).group(1)
    key, home = re.search(r'"([\w-]+)": "(superproto\.[\w.:]+)"', text).groups()
    name, _, attribute = home.rpartition(".")[2].partition(":")
    (tmp_path / f"{name}.py").write_text(block, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(registry._HOMES, key, f"{name}:{attribute}")
    return key


def test_the_recipe_for_a_method_is_a_method(recipe, tmp_path):
    task = make_task(n_seen=8, n_unseen=4, random_state=0)
    model = registry.make_model(recipe, {"ridge": 0.5}).fit(task.X, task.y, semantics=task.semantics)
    right = (model.transduction_ == task.truth)[task.asked].mean()
    assert right > 0.5, "four candidates: chance is a quarter"
    assert (model.predict(task.X)[task.asked] == model.transduction_[task.asked]).all()
    assert clone(model).ridge == 0.5
    model.save(tmp_path / "m.model")
    assert (load_model(tmp_path / "m.model").predict(task.X) == model.predict(task.X)).all()
    with pytest.raises(superproto.UserError, match="ridge is 0, but it must be larger than 0"):
        registry.make_model(recipe, {"ridge": 0}).fit(task.X, task.y, semantics=task.semantics)


def modules() -> dict[str, list[str]]:
    """Full names of the modules by their last part."""
    found: dict[str, list[str]] = {}
    for module in pkgutil.walk_packages([str(SOURCE)], "superproto."):
        found.setdefault(module.name.rpartition(".")[2], []).append(module.name)
    return found


@pytest.mark.parametrize("page", PAGES)
def test_pages_name_modules_and_functions_that_exist(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for path in re.findall(r"`((?:[\w]+/)*\w+\.py)`", text):
        assert any((folder / path).exists() for folder in (ROOT, SOURCE)), f"{page} names {path}"
    known = modules()
    for module, name in re.findall(r"`([a-z]\w+)\.([a-z]\w+)`", text):
        if module in known and name not in FILE_ENDINGS:
            found = [importlib.import_module(full) for full in known[module]]
            # `task.folds` is a method of the class Task, which the module task defines.
            found += [getattr(one, module.capitalize(), None) for one in found]
            assert any(hasattr(one, name) for one in found), f"{page} names {module}.{name}"
