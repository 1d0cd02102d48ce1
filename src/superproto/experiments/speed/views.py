"""RESEARCH: write the results of speed studies as blocks of README and docs, and as a chart of growth."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

import numpy as np

from superproto.errors import UserError
from superproto.experiments.records import Entry
from superproto.experiments.speed.fit_parts import PARTS
from superproto.files import write_whole
from superproto.reporting.charts.charts import Series, line_chart
from superproto.reporting.page import standalone_svg
from superproto.reporting.table import Content, Table, TableCell, Text

Entries = Mapping[str, Entry]
NOT_YET = "Not measured yet: `make bench`."


def contenders_block(entries: Entries) -> str:
    """Write the table of other computations on the same data: seconds, and multiples of the time of a fit."""
    others, floor = entries.get("against-others"), entries.get("against-floor")
    if others is None or floor is None:
        return NOT_YET
    rows: list[list[Content]] = [[Text("HPL().fit", "code"), _seconds(others["seconds"]["fit"]), ""]]
    rows += [[Text(name, "code"), _seconds(s), _times(s / others["seconds"]["fit"])] for name, s in _but_fit(others)]
    named: dict[str, Content] = {
        "grams": TableCell(("one Gram matrix and ", Text("eigh", "code"), " of either domain")),
        "Sylvester solves": f"the loop's {floor['updates']} prototype updates as Sylvester solves",
    }
    rows += [
        [text, _seconds(floor["seconds"][name]), _times(floor["seconds"][name] / floor["seconds"]["fit"])]
        for name, text in named.items()
    ]
    table = Table(["", "median of 5", "against the fit"], rows)
    return f"{_sizes(others)}; {_machine(others)}.\n\n{table.to_markdown()}"


def foundation_block(entries: Entries) -> str:
    """Write the comparison of the default model with its first default parameters."""
    entry = entries.get("against-foundation")
    if entry is None:
        return NOT_YET
    rows = []
    for data in dict.fromkeys(name.split(": ")[0] for name in entry["seconds"]):
        found = {kind: entry["seconds"][f"{data}: {kind}"] for kind in ("fit", "foundation", "published")}
        rows.append([data, *(_seconds(value) for value in found.values()), _times(found["fit"] / found["foundation"])])
    own = Text("HPL()", "code")
    head: list[Content] = ["data", own, "the defaults it began with", "as published, whitened (once)"]
    return Table([*head, TableCell((own, " / began with"))], rows).to_markdown()


def breakdown_block(entries: Entries) -> str:
    """Write the time of each part of a fit, and the least time that the machine allows, for two data sizes."""
    known = [(name, entries[study]) for study, name in _BROKEN_DOWN.items() if study in entries]
    if not known:
        return NOT_YET
    head = ["part"] + [f"{name}: {word}" for name, _ in known for word in ("seconds", "floor")]
    rows = []
    for part in (*PARTS, "fit"):
        cells = []
        for _, entry in known:
            floor = entry["floor"].get(part)
            cells += [_seconds(entry["seconds"][part]), "–" if floor is None else _seconds(floor)]
        rows.append([part, *cells])
    title = "; ".join(f"{name}: {_sizes(entry)}, {_machine(entry)}" for name, entry in known)
    return f"{title}.\n\n{Table(head, rows).to_markdown()}"


def growth_block(entries: Entries) -> str:
    """Write the exponents of growth, the time of an iteration, and the bytes per sample."""
    growth, iteration, memory = (entries.get(name) for name in ("growth", "outer-iteration", "memory"))
    lines = []
    if growth is not None:
        powers = ", ".join(f"{name} {value:.2f}" for name, value in growth["exponents"].items())
        sizes = growth["curves"]["pool"]["sizes"]
        lines.append(f"Exponents of growth: {powers} (the pool from {sizes[0]:,} to {sizes[-1]:,} samples).")
    if iteration is not None:
        found = [
            f"{_times(iteration['ratios'][f'{kind} iteration / X @ P.T'])} for {kind} assignment "
            f"(visits to the pool: {iteration['visits_per_iteration'][kind]:g})"
            for kind in ("hard", "soft")
        ]
        pool = f"{iteration['sizes']['pool']:,} pool samples"
        lines.append(f"An outer iteration at {pool}, in products `X @ P.T`: {', '.join(found)}.")
    if memory is not None:
        found = [f"{size / 1e6:,.0f} MB for {name}" for name, size in memory["bytes"].items()]
        lines.append(
            f"Anonymous memory of a fit from a mapped file ({_sizes(memory)}): {', '.join(found)}; "
            f"{memory['ratios']['bytes per sample']:.0f} bytes for each further sample."
        )
    if growth is not None:
        lines.append("\n![Seconds of five iterations as one size grows](../benchmarks/growth.svg)")
    return "\n".join(lines) or NOT_YET


def large_block(entries: Entries) -> str:
    """Write the result of the task of ImageNet's size in two sentences."""
    entry = entries.get("large")
    if entry is None:
        return "Not measured yet: `superproto research speed --large DIR`."
    seconds, peak = entry["seconds"]["fit"], entry["bytes"]["peak"]
    return (
        f"{_sizes(entry)}, features on disk: {seconds / 60:.1f} minutes ({entry['iterations']} iterations), "
        f"{peak / 1e9:.2f} GB of anonymous memory at most; {_machine(entry)}. At the machine's own rates, "
        f"all passes and the factor of the metric would take {sum(entry['floor'].values()) / 60:.1f} minutes."
    )


def pictures_block(entries: Entries) -> str:
    """Write how many pictures are embedded per second, and the time and memory of very many pictures."""
    rate, many = entries.get("picture-rate"), entries.get("many-pictures")
    if rate is None or many is None:
        return NOT_YET
    found = rate["ratios"]
    lines = [
        f"{rate['sizes']['pictures']} photographs of {rate['sizes']['pixels each'] / 1e6:.2g} megapixels: "
        f"{found['embed_folder, pictures per second']:.0f} pictures per second from files to stored features, "
        f"{100 * found['embed_folder / bare onnxruntime, pictures per second']:.0f} % of what bare onnxruntime does on "
        f"decoded arrays ({_machine(rate)}).",
        "",
        "Small pictures with a network of one layer, so that everything else is measured:",
        "",
    ]
    rows = [[name, _seconds(value), f"{many['bytes'][name] / 1e6:.0f} MB"] for name, value in many["seconds"].items()]
    lines.append(Table(["command", "time", "most memory"], rows).to_markdown())
    further = many["ratios"]["embed: bytes per further picture"]
    lines.append(f"\nEach further picture takes {further:,.0f} bytes of memory while pictures are embedded.")
    return "\n".join(lines)


def descriptions_block(entries: Entries) -> str:
    """The accuracy of labels with each kind of class description, and the forecast beside it."""
    entry = entries.get("picture-descriptions")
    if entry is None:
        return NOT_YET
    sizes, means = entry["sizes"], entry["ratios"]
    rows = [
        [kind, *(f"{100 * value:.0f} %" for value in (np.mean(found), min(found), max(found)))]
        for kind, found in entry["draws"].items()
    ]
    table = Table(["description of a bird", "mean accuracy", "lowest", "highest"], rows).to_markdown()
    return (
        f"{sizes['draws']} draws of {sizes['unseen']} kinds of birds without examples and {sizes['seen']} with "
        f"{sizes['labeled'] // sizes['seen']} pictures each (`--pool new`, per-class accuracy on those without "
        f"examples, chance {100 * means['chance']:.0f} %):\n\n{table}\n\n"
        f"With all attributes, the mean forecast was {100 * means['forecast']:.0f} %."
    )


def explorer_block(entries: Entries) -> str:
    """The page: how soon it shows, what an answer and a refit take, and a million rows."""
    page, refit, rows = (entries.get(f"explorer-{name}") for name in ("page", "refit", "rows"))
    if page is None or refit is None or rows is None:
        return NOT_YET
    seconds, ratios = page["seconds"], page["ratios"]
    table: list[list[Content]] = [
        [
            f"first question, {page['sizes']['pictures']:,} pictures",
            _seconds(seconds["first question"]),
            f"{_times(ratios['first question / bare page'])} a bare page",
        ],
        ["grid of the same", _seconds(seconds["grid"]), f"{_times(ratios['grid / bare page'])} a bare page"],
        [
            "an answer on the disk (95 % of them)",
            _milliseconds(seconds["an answer (95 %)"]),
            f"{_times(ratios['an answer / a bare commit'])} a bare commit",
        ],
        [
            f"a refit of {_sizes(refit)}",
            _seconds(refit["seconds"]["refit"]),
            f"{_times(refit['ratios']['refit / fit'])} a fit",
        ],
        [
            f"grid, {rows['sizes']['rows']:,} rows",
            _seconds(rows["seconds"]["grid"]),
            f"{rows['bytes']['server'] / 1e6:.0f} MB",
        ],
    ]
    said = f"In Chromium, with nothing in its cache; {_machine(page)}."
    return f"{said}\n\n{Table(['', 'time', 'against'], table).to_markdown()}"


def answers_block(entries: Entries) -> str:
    """What answers are worth: accuracy after each refit, mean of the draws, and the least and greatest of them."""
    entry = entries.get("explorer-answers")
    if entry is None:
        return NOT_YET
    rows: list[list[Content]] = []
    for words, means in entry["accuracy"].items():
        spread = [[draw[step] for draw in entry["draws"][words]] for step in range(len(means))]
        rows.append(
            [_DESCRIBED[words], *(f"{_share(m)} ({_share(min(s))} to {_share(max(s))})" for m, s in zip(means, spread))]
        )
    head: list[Content] = ["descriptions", *(f"{count} answers" for count in entry["answers"])]
    said = f"Mean of {entry['sizes']['draws']} draws of the classes; in brackets the least and the greatest."
    return f"{said}\n\n{Table(head, rows).to_markdown()}"


def bounds_block(entries: Entries) -> str:
    """Write the table of every bound that a study checks, and whether it was kept."""
    rows = [
        [study, name, "yes" if value else Text("no", "bold")]
        for study, e in entries.items()
        for name, value in e.get("kept", {}).items()
    ]
    return Table(["study", "bound", "kept"], rows).to_markdown() if rows else NOT_YET


def headline_block(entries: Entries) -> str:
    """Write the main ratios and the result of the large task, in one sentence each."""
    others, floor = entries.get("against-others"), entries.get("against-floor")
    if others is None or floor is None:
        return NOT_YET
    ratios = ", ".join(f"`{name}` {_times(s / others['seconds']['fit'])}" for name, s in _but_fit(others))
    sylvester = _times(floor["ratios"]["Sylvester solves / fit"])
    text = (
        f"A fit of {_sizes(others)} takes {_seconds(others['seconds']['fit'])}. Others on the same data, in multiples "
        f"of it: {ratios}, the same loop with Sylvester solves {sylvester}."
    )
    return text if "large" not in entries else f"{text} ImageNet's size: {large_block(entries)}"


def write_growth_chart(path: str | os.PathLike[str], entry: Entry) -> None:
    """Draw an SVG chart with one line for each size that grew, with logarithmic axes and the fitted exponents."""
    if "curves" not in entry:
        raise UserError(f"The study '{entry.get('study')}' has no curves to draw. Run the study growth.")
    lines = [
        Series(f"{name} (exponent {entry['exponents'][name]:.2f})", curve["sizes"], curve["seconds"])
        for name, curve in entry["curves"].items()
    ]
    alt = "Seconds of a fit of five outer iterations as one size grows and the others are constant."
    chart = line_chart(lines, "size", "seconds", alt=alt, width=560, log=(True, True))
    with write_whole(path, text=True) as handle:
        handle.write(str(standalone_svg(chart)))


SPEED_BLOCKS: dict[str, Callable[[Entries], str]] = {
    "speed": headline_block,
    "speed-contenders": contenders_block,
    "speed-foundation": foundation_block,
    "speed-parts": breakdown_block,
    "speed-growth": growth_block,
    "speed-large": large_block,
    "speed-pictures": pictures_block,
    "pictures-descriptions": descriptions_block,
    "speed-explorer": explorer_block,
    "explorer-answers": answers_block,
    "speed-bounds": bounds_block,
}
_DESCRIBED = {"sentences": "sentences of the strongest attributes", "names": "names alone"}
_BROKEN_DOWN = {"breakdown": "CUB's size", "large": "ImageNet's size"}
_PLURALS = {"labeled": "labeled", "pool": "pool samples", "seen": "seen classes", "unseen": "unseen classes"}


def _but_fit(entry: Entry) -> list[tuple[str, float]]:
    return [(name, value) for name, value in entry["seconds"].items() if name != "fit"]


def _sizes(entry: Entry) -> str:
    return ", ".join(f"{value:,} {_PLURALS.get(name, name)}" for name, value in entry["sizes"].items())


def _machine(entry: Entry) -> str:
    machine = entry["machine"]
    return f"threads: {machine['threads']}, load {machine['load']:g}"


def _seconds(value: float) -> str:
    return f"{value:.0f} s" if value >= 99.5 else f"{value:.2g} s" if value >= 0.01 else "0 s"


def _milliseconds(value: float) -> str:
    return f"{1000 * value:.0f} ms"


def _share(value: float) -> str:
    return f"{100 * value:.0f} %"


def _times(value: float) -> str:
    return f"{value:.0f} ×" if value >= 9.95 else f"{value:.1f} ×"
