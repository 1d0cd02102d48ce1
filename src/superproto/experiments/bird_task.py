"""MAKE a task of birds: 30 seen and 15 unseen classes of CUB, described by sentences or by names."""

from __future__ import annotations

import numpy as np

from superproto.datasets.task import Task
from superproto.files import PathLike

PACK = "cub_efficientnet_lite0.npz"
_COLORS = [
    "blue",
    "brown",
    "iridescent",
    "purple",
    "rufous",
    "grey",
    "yellow",
    "olive",
    "green",
    "pink",
    "orange",
    "black",
    "white",
    "red",
    "buff",
]
_EYES = [color for color in _COLORS if color != "iridescent"]
_PATTERNS = ["solid", "spotted", "striped", "multi-colored"]
_TAIL = ["forked", "rounded", "notched", "fan-shaped", "pointed", "squared"]
_WINGS = ["rounded", "pointed", "broad", "tapered", "long"]
_BILL = ["curved", "dagger", "hooked", "needle", "hooked seabird", "spatulate", "all-purpose", "cone", "specialized"]
_HEAD = [
    "spotted",
    "malar",
    "crested",
    "masked",
    "unique-patterned",
    "eyebrowed",
    "eye-ringed",
    "plain",
    "eye-lined",
    "striped",
    "capped",
]
_LENGTH = ["about as long as the head", "longer than the head", "shorter than the head"]
_SIZE = ["large", "small", "very large", "medium-sized", "very small"]
_SHAPE = [
    "upright-perching water bird",
    "chicken-like marsh bird",
    "long-legged bird",
    "duck",
    "owl",
    "gull",
    "hummingbird",
    "pigeon",
    "tree-clinging bird",
    "hawk",
    "sandpiper",
    "upland ground bird",
    "swallow",
    "perching bird",
]
# The 28 groups of CUB's 312 attributes, in their order, each with the words of a sentence.
ATTRIBUTE_GROUPS: list[tuple[str, list[str]]] = [
    ("a {} bill", _BILL), ("{} wings", _COLORS), ("{} upperparts", _COLORS), ("{} underparts", _COLORS),
    ("a {} breast", _PATTERNS), ("a {} back", _COLORS), ("a {} tail", _TAIL), ("a {} upper tail", _COLORS),
    ("a {} head", _HEAD), ("a {} breast", _COLORS), ("a {} throat", _COLORS), ("{} eyes", _EYES),
    ("a bill {}", _LENGTH), ("a {} forehead", _COLORS), ("a {} under tail", _COLORS), ("a {} nape", _COLORS),
    ("a {} belly", _COLORS), ("{} wings", _WINGS), ("{} size", _SIZE), ("shaped as a {}", _SHAPE),
    ("a {} back", _PATTERNS), ("a {} tail", _PATTERNS), ("a {} belly", _PATTERNS), ("{} over all", _COLORS),
    ("{} legs", _COLORS), ("a {} bill", _COLORS), ("a {} crown", _COLORS), ("{} wings", _PATTERNS),
]  # fmt: skip
# What a person writes down about a bird: size, shape, main color and the parts that one sees first.
WRITTEN = (18, 19, 23, 0, 25, 26, 1, 9, 16, 8)


def sentence(attributes: np.ndarray) -> str:
    """The strongest value of the groups that a person would write about."""
    starts = np.cumsum([0, *(len(values) for _, values in ATTRIBUTE_GROUPS)])
    parts = []
    for number in WRITTEN:
        pattern, values = ATTRIBUTE_GROUPS[number]
        own = attributes[starts[number] : starts[number + 1]]
        parts.append(pattern.format(values[int(own.argmax())]))
    return "a bird of " + ", ".join(parts)


def plain_name(name: str) -> str:
    return name.partition(".")[2].replace("_", " ")


def bird_task(path: PathLike, seed: int = 0, words: str = "sentences", n_seen: int = 30, n_unseen: int = 15) -> Task:
    """25 pictures of each seen class, all pictures of the unseen ones; MiniLM of sentences or of names."""
    from superproto.pictures.sentences import embed_sentences

    with np.load(path) as pack:
        arrays = {name: pack[name] for name in pack.files}
    generator, labels = np.random.default_rng(seed), arrays["labels"]
    seen = generator.choice(np.unique(labels[arrays["trainval_loc"]]), n_seen, replace=False)
    unseen = generator.choice(np.unique(labels[arrays["test_unseen_loc"]]), n_unseen, replace=False)
    labeled = [generator.permutation(np.flatnonzero(labels == c))[:25] for c in seen]
    rows = np.concatenate([*labeled, *(np.flatnonzero(labels == c) for c in unseen)])
    classes = np.concatenate([seen, unseen])
    number = {int(c): row for row, c in enumerate(classes)}
    truth = np.array([number[int(c)] for c in labels[rows]])
    names = [plain_name(str(arrays["class_names"][c])) for c in classes]
    texts = names if words == "names" else [sentence(arrays["att"][c]) for c in classes]
    return Task(
        X=arrays["features"][rows].astype(np.float32),
        y=np.where(truth < n_seen, truth, -1),
        semantics=np.asarray(embed_sentences(texts)),
        class_names=np.array(names),
        truth=truth,
        name="birds",
    )
