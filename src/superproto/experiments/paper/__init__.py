"""The paper, reproduced: what it reports, the plan that repeats it, and the figures that go with it."""

from __future__ import annotations
