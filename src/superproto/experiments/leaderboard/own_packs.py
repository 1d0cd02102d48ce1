"""RESEARCH: the user's data sets as columns of the leaderboard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from superproto.datasets.loading import read_source, to_task
from superproto.errors import UserError
from superproto.evaluation.evaluate import check_truth_is_known
from superproto.experiments.plans import FEATURES, SETTINGS, Data, LeaderboardPlan, Part, Skip
from superproto.experiments.records import Record


def only_own_packs(plan: LeaderboardPlan, packs: Sequence[Path]) -> LeaderboardPlan:
    """Return a plan with the same methods, with default parameters, on these packs.

    Settings that a pack does not support (no test samples of seen classes) are skipped, with the reason.
    """
    data: list[Data] = []
    skips = list(plan.skips)
    for path in packs:
        own = Data(path.stem, str(path.absolute()), path.stem, "own features")
        if own.name in [other.name for other in data]:
            raise UserError(
                f"Two packs are called '{own.name}'. Rename one of them: records are identified by this name."
            )
        missing = _settings_without_samples(path)
        data.append(own)
        skips += [
            Skip(method, reason, data=own.name, setting=setting)
            for setting, reason in missing.items()
            for method in plan.methods
        ]
    parts = tuple(Part(own, features) for features in FEATURES for own in data)
    return replace(plan, data=tuple(data), parts=parts, skips=tuple(skips), references=())


def only_recorded_methods(plan: LeaderboardPlan, records: Sequence[Record]) -> LeaderboardPlan:
    """Return the plan without the methods that were never run on its data sets."""
    names = {own.name for own in plan.data}
    run = {record.method for record in records if record.task in names}
    if not run:
        raise UserError(f"No run of {', '.join(sorted(names))} is recorded. Add --run.")
    groups = {kind: tuple(method for method in methods if method in run) for kind, methods in plan.groups.items()}
    return replace(plan, groups=groups)


def _settings_without_samples(path: Path) -> dict[str, str]:
    """Return the settings that cannot be scored on a pack, with reasons; raise if none can."""
    found = read_source(path)
    missing = {}
    for setting in SETTINGS:
        try:
            check_truth_is_known(to_task(found, setting))
        except UserError as error:
            missing[setting] = str(error)
    if len(missing) == len(SETTINGS):
        raise UserError(missing["zsl"])
    return missing
