"""FIT: HPL as printed in the paper, and its variant with alignment in both directions."""

from __future__ import annotations

from typing import Any

from superproto.hpl.estimator import HPL, PUBLISHED


class PublishedHPL(HPL):
    """Hierarchical prototype learning as printed: parameters that the paper does not have are fixed at its values.

    The objective and its updates are those of the paper, with free prototypes and least-squares encoding; see
    :meth:`~superproto.hpl.estimator.HPL.as_published`. Every class has a prototype made of super-prototypes with the
    code that makes its description.

    Parameters
    ----------
    rho : float in [0, 1), default=0.6
        Samples against structure. Larger: prototypes follow the samples.
    omega : float in [0, 1), default=0.5
        Semantic against visual space in the codes. Larger: codes explain the descriptions first.
    alpha : float in [0, 1), default=0.6
        Unseen against seen part. Larger: super-prototypes follow the unseen classes more.
    theta : float in (0, 1] or None, default=None
        Super-prototypes per class, q / (m + n). None: q = m, the paper's best.
    max_iter : int, default=100
        Largest number of outer iterations. Larger: closer to convergence.
    tol : float, default=1e-4
        Tolerance of the stopping rule. Larger: stops earlier.
    random_state : int or None, default=None
        Seed of the K-means that starts super-prototypes when q ≠ m, and of clustering starts.
    candidates : {"unseen", "all"} or list of classes, default="unseen"
        Classes that an unlabeled sample may receive.
    whiten : bool or float, default=False
        Whiten the features by the within-class covariance of the labeled samples.
    variant : {"hpl", "hpl1"}, default="hpl"
        "hpl1" aligns in both directions.
    init : {"means", "kmeans", "affinity"} or fitted HPL, default="means"
        Start of the unseen prototypes.
    order : {"unseen", "seen"}, default="unseen"
        Which part an outer iteration does first.
    alternate : bool, default=True
        False: super-prototypes from the seen classes alone, then the unseen part once.
    dictionary_solver : {"blocks", "gradient"}, default="blocks"
        Exact block coordinates, or the projected gradient of the paper.

    Notes
    -----
    Published (ResNet-101, proposed split): aPY 73.8, AwA 91.2, SUN 70.4, CUB 75.2.

    References
    ----------
    Zhang, Gui, Zhu, Zhao and Liu, "Hierarchical prototype learning for zero-shot recognition", IEEE TMM 2020.
    """

    method_key = "hpl-published"

    def __init__(
        self,
        rho: float = 0.6,
        omega: float = 0.5,
        alpha: float = 0.6,
        theta: float | None = None,
        max_iter: int = 100,
        tol: float = 1e-4,
        random_state: Any = None,
        candidates: Any = "unseen",
        whiten: bool | float = False,
        variant: str = "hpl",
        init: Any = "means",
        order: str = "unseen",
        alternate: bool = True,
        dictionary_solver: str = "blocks",
    ) -> None:
        chosen = {
            "rho": rho, "omega": omega, "alpha": alpha, "theta": theta, "max_iter": max_iter, "tol": tol,
            "random_state": random_state, "candidates": candidates, "whiten": whiten, "variant": variant,
            "init": init, "order": order, "alternate": alternate, "dictionary_solver": dictionary_solver,
        }  # fmt: skip
        super().__init__(**{**PUBLISHED, **chosen})


class HPL1(PublishedHPL):
    """Hierarchical prototype learning with alignment in both directions, ablation i of the paper.

    As ``hpl-published``, with the terms ``κ_j (‖p_j D_vᵀ − z_j‖² + λ ‖a_j D_cᵀ − z_j‖²)`` added. Codes then predict
    prototypes and descriptions, and these predict the codes.

    Parameters
    ----------
    rho, omega, alpha, theta, max_iter, tol, random_state, candidates, whiten, init, order, alternate
        As in :class:`PublishedHPL`.

    Notes
    -----
    Published (ResNet-101, proposed split): aPY 72.2, AwA 91.9, SUN 68.3, CUB 75.4.

    References
    ----------
    Zhang, Gui, Zhu, Zhao and Liu, "Hierarchical prototype learning for zero-shot recognition", IEEE TMM 2020.
    """

    method_key = "hpl1"

    def __init__(
        self,
        rho: float = 0.6,
        omega: float = 0.5,
        alpha: float = 0.6,
        theta: float | None = None,
        max_iter: int = 100,
        tol: float = 1e-4,
        random_state: Any = None,
        candidates: Any = "unseen",
        whiten: bool | float = False,
        init: Any = "means",
        order: str = "unseen",
        alternate: bool = True,
    ) -> None:
        super().__init__(
            rho=rho, omega=omega, alpha=alpha, theta=theta, max_iter=max_iter, tol=tol, random_state=random_state,
            candidates=candidates, whiten=whiten, variant="hpl1", init=init, order=order, alternate=alternate,
        )  # fmt: skip
