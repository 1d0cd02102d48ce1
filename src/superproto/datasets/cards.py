"""LOAD: cards of the well-known data sets: sizes, source, license, citation.

The sizes of aPY, AwA1, SUN, CUB and ImageNet are from Table II of the HPL paper, the others from Xian et al. (2018).
A data set that differs from its card is still loaded; the differences become notes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Card:
    """Facts about one data set. ps and ss are the numbers of samples in (trainval, test_seen, test_unseen)."""

    name: str
    title: str
    samples: int
    attributes: int
    train_classes: int
    val_classes: int
    unseen_classes: int
    ps: tuple[int, int, int] | None
    ss: tuple[int, int, int] | None
    some_classes: tuple[str, ...]
    source: str
    license: str
    citation: str

    @property
    def classes(self) -> int:
        """The number of all classes."""
        return self.train_classes + self.val_classes + self.unseen_classes


_ANIMALS = (
    "antelope",
    "grizzly bear",
    "killer whale",
    "dalmatian",
    "persian cat",
    "blue whale",
    "giant panda",
    "otter",
)
_XIAN = "Xian, Lampert, Schiele, Akata (2018). Zero-Shot Learning: A Comprehensive Evaluation. IEEE TPAMI."
CARDS: tuple[Card, ...] = (
    Card(
        name="aPY",
        title="Attribute Pascal and Yahoo",
        samples=15339,
        attributes=64,
        train_classes=15,
        val_classes=5,
        unseen_classes=12,
        ps=(5932, 1483, 7924),
        ss=(12695, 0, 2644),
        some_classes=("aeroplane", "diningtable", "pottedplant", "tvmonitor", "centaur", "jetski", "statue", "mug"),
        source="https://vision.cs.uiuc.edu/attributes/",
        license="images from Flickr and Yahoo under their owners' terms; research use",
        citation="Farhadi, Endres, Hoiem, Forsyth (2009). Describing Objects by their Attributes. CVPR.",
    ),
    Card(
        name="AwA1",
        title="Animals with Attributes",
        samples=30475,
        attributes=85,
        train_classes=27,
        val_classes=13,
        unseen_classes=10,
        ps=(19832, 4958, 5685),
        ss=(24295, 0, 6180),
        some_classes=_ANIMALS,
        source="https://cvml.ista.ac.at/AwA/",
        license="images not public (no license from their owners); features and attributes for research use",
        citation="Lampert, Nickisch, Harmeling (2014). Attribute-Based Classification for Zero-Shot Visual Object "
        "Categorization. IEEE TPAMI.",
    ),
    Card(
        name="AwA2",
        title="Animals with Attributes 2",
        samples=37322,
        attributes=85,
        train_classes=27,
        val_classes=13,
        unseen_classes=10,
        ps=(23527, 5882, 7913),
        ss=(30337, 0, 6985),
        some_classes=_ANIMALS,
        source="https://cvml.ista.ac.at/AwA2/",
        license="every image under its own free license, listed with the data",
        citation=_XIAN,
    ),
    Card(
        name="SUN",
        title="SUN Attribute Database",
        samples=14340,
        attributes=102,
        train_classes=580,
        val_classes=65,
        unseen_classes=72,
        ps=(10320, 2580, 1440),
        ss=(12900, 0, 1440),
        some_classes=(
            "abbey",
            "access road",
            "airlock",
            "bamboo forest",
            "butte",
            "hayfield",
            "moat dry",
            "zen garden",
        ),
        source="https://cs.brown.edu/~gmpatter/sunattributes.html",
        license="no license stated; research use",
        citation="Patterson, Hays (2012). SUN Attribute Database. CVPR.",
    ),
    Card(
        name="CUB",
        title="Caltech-UCSD Birds-200-2011",
        samples=11788,
        attributes=312,
        train_classes=100,
        val_classes=50,
        unseen_classes=50,
        ps=(7057, 1764, 2967),
        ss=(8855, 0, 2933),
        some_classes=(
            "black footed albatross",
            "laysan albatross",
            "groove billed ani",
            "indigo bunting",
            "gray catbird",
            "scarlet tanager",
            "cedar waxwing",
            "common yellowthroat",
        ),
        source="https://www.vision.caltech.edu/datasets/cub_200_2011/",
        license="non-commercial research and education",
        citation="Wah, Branson, Welinder, Perona, Belongie (2011). The Caltech-UCSD Birds-200-2011 Dataset.",
    ),
    Card(
        name="FLO",
        title="Oxford Flowers 102",
        samples=8189,
        attributes=1024,
        train_classes=62,
        val_classes=20,
        unseen_classes=20,
        ps=(5631, 1403, 1155),
        ss=None,
        some_classes=(
            "pink primrose",
            "hard leaved pocket orchid",
            "canterbury bells",
            "globe thistle",
            "snapdragon",
            "king protea",
            "bird of paradise",
            "sword lily",
        ),
        source="https://www.robots.ox.ac.uk/~vgg/data/flowers/102/",
        license="no license stated; research use",
        citation="Nilsback, Zisserman (2008). Automated Flower Classification over a Large Number of Classes. ICVGIP; "
        "sentence embeddings: Reed, Akata, Lee, Schiele (2016). CVPR.",
    ),
    Card(
        name="ImageNet",
        title="ImageNet, 1000 classes of ILSVRC 2012 and 360 of 2010",
        samples=254000,
        attributes=1000,
        train_classes=800,
        val_classes=200,
        unseen_classes=360,
        ps=None,
        ss=(200000, 0, 54000),
        some_classes=(
            "tench",
            "goldfish",
            "great white shark",
            "tiger shark",
            "hammerhead",
            "electric ray",
            "hen",
            "ostrich",
        ),
        source="https://www.image-net.org/",
        license="non-commercial research and education",
        citation="Russakovsky et al. (2015). ImageNet Large Scale Visual Recognition Challenge. IJCV.",
    ),
)


def recognize(class_names: Iterable[str] | None, classes: int, attributes: int, samples: int | None) -> Card | None:
    """Return the card with these class names or, without names, with these sizes; None if there is none."""
    if class_names is not None:
        names = {_plain(name) for name in class_names}
        fitting = [
            card
            for card in CARDS
            if 4 * sum(_plain(c) in names for c in card.some_classes) >= 3 * len(card.some_classes)
        ]
    else:
        fitting = []
    if not fitting and (class_names is None or all(name.isdigit() for name in class_names)):
        fitting = [card for card in CARDS if (card.classes, card.attributes) == (classes, attributes)]
    # AwA1 and AwA2 have the same classes and differ in the number of samples.
    return min(fitting, key=lambda card: abs(card.samples - (samples or card.samples)), default=None)


def differences(
    card: Card, samples: int | None, classes: int, attributes: int, counts: tuple[int, int, int], protocol: str
) -> Iterator[str]:
    """Yield how a data set differs from its card. ``counts`` are the sizes of trainval, test_seen and test_unseen."""
    for what, here, there in (
        ("samples", samples, card.samples),
        ("classes", classes, card.classes),
        ("attributes", attributes, card.attributes),
    ):
        if here is not None and here != there:
            yield f"It has {here} {what}; {card.name} has {there}."
    expected = card.ps if protocol == "ps" else card.ss
    for split, here, there in zip(("trainval", "test_seen", "test_unseen"), counts, expected or counts):
        if here != there:
            yield f"Its {split} part ({protocol.upper()}) has {here} samples; {card.name}'s has {there}."


def _plain(name: str) -> str:
    """Normalize a class name: '001.Black_footed_Albatross' and 'black-footed albatross' are the same class."""
    return " ".join(re.sub(r"^\d+\.", "", str(name).lower()).translate(_SIGNS).split())


_SIGNS = str.maketrans("+_-./", "     ")
