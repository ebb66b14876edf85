"""The estimators: one per family of models.

Made by python/tools/generate.py from the option tables in C++; do not edit.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Literal

from ._base import RankingModel
from ._progress import Progress
from ._regression import RegressionModel

__all__ = ["DirichletProcessMallows", "EBMS", "FAMILIES", "GeneralizedMallowsMixture", "MallowsKDE", "MallowsMixture", "MultiplicativeMallows", "PlackettLuceMixture", "PlackettLuceRegression"]


class PlackettLuceMixture(RankingModel):
    """Mixtures of Plackett-Luce models; one group is the Plackett-Luce model itself.

    In a Plackett-Luce model every item has a strength. A voter picks the favourite with odds given by the strengths, then the next among
    the rest, and so on. Each group has strengths of its own.

    The family ``pl`` of the command line. Methods:

    - ``em``: maximum likelihood by accelerated EM: the fastest way to the true maximum. Takes complete, top-t, subset, pairwise, ties,
      voters.
    - ``em-lsr``: maximum likelihood by EM with weighted Luce spectral ranking (Nguyen & Zhang 2023). Takes complete, top-t, subset,
      pairwise, voters.
    - ``emm``: maximum likelihood by EM with one minorise-maximise step per pass (Gormley & Murphy 2008). Takes complete, top-t, subset,
      pairwise, ties, voters.
    - ``em-cml``: EM with the composite marginal likelihood of pairs in the M-step (Zhao, Liu & Xia 2020). Takes complete, top-t, subset,
      pairwise.
    - ``em-gmm``: EM with a generalized method of moments on pairs in the M-step (Zhao, Villamil & Xia 2018). Takes complete, top-t, subset,
      pairwise.
    - ``em-slsr``: stochastic EM with unweighted Luce spectral ranking (Liu et al. 2019). Takes complete, top-t, subset, pairwise.
    - ``spectral``: spectral clustering and least squares alone, no EM (Nguyen & Zhang 2023, Algorithm 3). Takes complete, top-t, subset,
      pairwise.
    - ``gibbs``: Bayesian mixture by Gibbs sampling with gamma priors (Mollica & Tardella 2017). Takes complete, top-t, subset, pairwise,
      voters.

    Parameters
    ----------
    components : int or "auto", default "auto"
        number of groups; auto: as many as the ballots show (1 to 1000)
    method : {"em", "em-lsr", "emm", "em-cml", "em-gmm", "em-slsr", "spectral", "gibbs"}, default "em"
        how to fit
    init : {"auto", "spectral", "random", "kmeans", "moments", "tensor", "file"}, default "auto"
        where to start; auto takes spectral, random, k-means and ballots in turn and keeps the best
    init_file : str, default ""
        a model file of this family to start from (init = file)
    restarts : int or "auto", default "auto"
        number of starts; auto: as many as a fixed amount of work allows, fewer where they agree (1 to 100000)
    iterations : int, default 10000
        most passes over the data per start (1 to 1000000000)
    tolerance : number, default 1e-08
        distance from the local maximum that counts as converged, relative to the log-likelihood (0 to 1)
    regularization : number or "auto", default "auto"
        pseudo-comparisons each item wins and loses against an item of utility 0; auto: none where the comparison graph is strongly
        connected, else 0.1; 0 forbids them (0 to 1000000)
    estimate_weights : bool, default True
        off keeps the groups equally large (or as the init file has them)
    standard_errors : {"auto", "on", "off"}, default "auto"
        from the observed information; auto leaves them out where they would take long
    bootstrap : number, default 0
        number of bootstrap samples for standard errors and intervals; 0: none (0 to 1000000)
    bootstrap_kind : {"parametric", "nonparametric"}, default "parametric"
        draw samples from the fitted model, or resample the rankings
    center : bool, default True
        spectral start: subtract the mean of the pairwise embedding
    rank_rule : {"components", "paper"}, default "components"
        spectral start: keep as many singular vectors as groups, or by the paper's threshold
    link : {"logit", "probit"}, default "logit"
        spectral start: logit (Plackett-Luce) or probit (Thurstone) link of the pairwise probabilities
    kmeans_restarts : int, default 20
        spectral and kmeans starts: restarts of k-means++ (1 to 10000)
    chain : {"auto", "explicit", "implicit"}, default "auto"
        em-lsr: build the Markov chain, or multiply by it without building it
    sweeps : int, default 2000
        gibbs: sweeps in all (1 to 1000000000)
    burnin : number, default 500
        gibbs: sweeps dropped at the beginning (0 to 1000000000)
    prior_shape : number, default 1
        gibbs: shape of the gamma prior of each worth (1e-06 to 1000000)
    prior_rate : number, default 0.001
        gibbs: rate of the gamma prior of each worth (1e-09 to 1000000)
    prior_weight : number, default 1
        gibbs: Dirichlet prior of the mixing weights (1e-06 to 1000000)
    membership : str, default ""
        what puts a voter into a group: columns of the voters, as in "age + region"; factor(x) takes numbers as categories
    missing : {"error", "drop", "mean"}, default "error"
        membership: voters of whom something is missing are an error, left out, or taken as average
    dampening : {"off", "on", "by-group"}, default "off"
        later choices may be noisier: an exponent for every stage, the same in all groups or of each
    items : path or frame, default ""
        table with one line per item: what is known of the items (with utilities)
    utilities : str, default ""
        what makes an item preferred: columns of the items' table, as in "price + origin"
    free_utilities : bool, default False
        utilities: besides what is known of an item, a free part of each with a ridge
    free_ridge : number, default 1
        utilities: strength of that ridge (1e-09 to 1000000000)
    arrays : Literal["orders", "ranks", "ratings"] | None, default None
        what numpy arrays and frames given as X hold; never guessed
    random_state : Any, default 1
        seed of all random numbers; same seed, same result. None is 1; a numpy generator gives a fresh one
    threads : int, default 0
        number of threads, 0 for all cores; the result does not depend on it
    time_limit : float | None, default None
        stop after this many seconds with the best result so far
    progress : Progress, default None
        True or False for a bar (by tqdm), or a function of (phase, iteration, limit, objective); None: a bar where a person looks and the
        fit takes longer than a second
    """

    _family = "pl"
    _own = ("components", "method", "init", "init_file", "restarts", "iterations", "tolerance", "regularization", "estimate_weights",
        "standard_errors", "bootstrap", "bootstrap_kind", "center", "rank_rule", "link", "kmeans_restarts", "chain", "sweeps", "burnin",
        "prior_shape", "prior_rate", "prior_weight", "membership", "missing", "dampening", "items", "utilities", "free_utilities",
        "free_ridge",)

    def __init__(
        self,
        components: int | Literal["auto"] = "auto",
        *,
        method: Literal["em", "em-lsr", "emm", "em-cml", "em-gmm", "em-slsr", "spectral", "gibbs"] = "em",
        init: Literal["auto", "spectral", "random", "kmeans", "moments", "tensor", "file"] = "auto",
        init_file: str | os.PathLike[str] | Sequence[float] = "",
        restarts: int | Literal["auto"] = "auto",
        iterations: int = 10000,
        tolerance: float = 1e-08,
        regularization: float | Literal["auto"] = "auto",
        estimate_weights: bool = True,
        standard_errors: Literal["auto", "on", "off"] = "auto",
        bootstrap: float = 0,
        bootstrap_kind: Literal["parametric", "nonparametric"] = "parametric",
        center: bool = True,
        rank_rule: Literal["components", "paper"] = "components",
        link: Literal["logit", "probit"] = "logit",
        kmeans_restarts: int = 20,
        chain: Literal["auto", "explicit", "implicit"] = "auto",
        sweeps: int = 2000,
        burnin: float = 500,
        prior_shape: float = 1,
        prior_rate: float = 0.001,
        prior_weight: float = 1,
        membership: str | os.PathLike[str] | Sequence[float] = "",
        missing: Literal["error", "drop", "mean"] = "error",
        dampening: Literal["off", "on", "by-group"] = "off",
        items: Any = "",
        utilities: str | os.PathLike[str] | Sequence[float] = "",
        free_utilities: bool = False,
        free_ridge: float = 1,
        arrays: Literal["orders", "ranks", "ratings"] | None = None,
        random_state: Any = 1,
        threads: int = 0,
        time_limit: float | None = None,
        progress: Progress = None,
    ) -> None:
        self.components = components
        self.method = method
        self.init = init
        self.init_file = init_file
        self.restarts = restarts
        self.iterations = iterations
        self.tolerance = tolerance
        self.regularization = regularization
        self.estimate_weights = estimate_weights
        self.standard_errors = standard_errors
        self.bootstrap = bootstrap
        self.bootstrap_kind = bootstrap_kind
        self.center = center
        self.rank_rule = rank_rule
        self.link = link
        self.kmeans_restarts = kmeans_restarts
        self.chain = chain
        self.sweeps = sweeps
        self.burnin = burnin
        self.prior_shape = prior_shape
        self.prior_rate = prior_rate
        self.prior_weight = prior_weight
        self.membership = membership
        self.missing = missing
        self.dampening = dampening
        self.items = items
        self.utilities = utilities
        self.free_utilities = free_utilities
        self.free_ridge = free_ridge
        self.arrays = arrays
        self.random_state = random_state
        self.threads = threads
        self.time_limit = time_limit
        self.progress = progress


class MallowsMixture(RankingModel):
    """Mixture of Mallows models: a consensus ranking and a dispersion per group.

    In a Mallows model every group has one order it agrees on. The more pairs of items a ranking turns around, the rarer it is; theta says
    how much rarer.

    The family ``mallows`` of the command line. Methods:

    - ``em``: EM with exact or local consensus from many starts. Takes complete, top-t, subset, pairwise, ties, voters.
    - ``tensor``: two groups from counts of top-3 sets and positions, with EM from there (--polish). Takes complete.

    Parameters
    ----------
    components : int or "auto", default "auto"
        number of groups; auto: as many as the ballots show (1 to 1000)
    method : {"em", "tensor"}, default "em"
        em, or tensor: two groups from counts of top-3 sets and positions (complete rankings)
    polish : bool, default True
        method tensor: EM from its result; off is the pure algorithm
    distance : {"kendall", "spearman", "footrule", "hamming", "cayley", "ulam"}, default "kendall"
        distance between rankings; all but kendall take complete rankings only
    consensus : {"auto", "borda", "local", "exact"}, default "auto"
        how centers are found; auto is exact within a node limit
    init : {"auto", "spectral", "kmeans", "random", "tensor"}, default "auto"
        starting points; auto takes spectral, kmeans and random in turn
    restarts : int or "auto", default "auto"
        number of starts; auto: as many as a fixed amount of work allows, fewer where they agree (1 to 100000)
    iterations : int, default 2000
        most EM iterations of one start (1 to 1000000000)
    tolerance : number, default 1e-10
        relative gain still to be had that counts as converged (0 to 1)
    accelerate : bool, default True
        SQUAREM steps on weights and dispersions
    completions : int or "auto", default "auto"
        most sampled completions per ballot and group, where rankings of subsets are too long for exact probabilities; auto: a fixed amount
        of work (2 to 1000000)
    standard_errors : bool, default True
        of dispersions and weights
    bootstrap : number, default 0
        resamples for the stability of the consensus; 0: none (0 to 1000000)
    arrays : Literal["orders", "ranks", "ratings"] | None, default None
        what numpy arrays and frames given as X hold; never guessed
    random_state : Any, default 1
        seed of all random numbers; same seed, same result. None is 1; a numpy generator gives a fresh one
    threads : int, default 0
        number of threads, 0 for all cores; the result does not depend on it
    time_limit : float | None, default None
        stop after this many seconds with the best result so far
    progress : Progress, default None
        True or False for a bar (by tqdm), or a function of (phase, iteration, limit, objective); None: a bar where a person looks and the
        fit takes longer than a second
    """

    _family = "mallows"
    _own = ("components", "method", "polish", "distance", "consensus", "init", "restarts", "iterations", "tolerance", "accelerate",
        "completions", "standard_errors", "bootstrap",)

    def __init__(
        self,
        components: int | Literal["auto"] = "auto",
        *,
        method: Literal["em", "tensor"] = "em",
        polish: bool = True,
        distance: Literal["kendall", "spearman", "footrule", "hamming", "cayley", "ulam"] = "kendall",
        consensus: Literal["auto", "borda", "local", "exact"] = "auto",
        init: Literal["auto", "spectral", "kmeans", "random", "tensor"] = "auto",
        restarts: int | Literal["auto"] = "auto",
        iterations: int = 2000,
        tolerance: float = 1e-10,
        accelerate: bool = True,
        completions: int | Literal["auto"] = "auto",
        standard_errors: bool = True,
        bootstrap: float = 0,
        arrays: Literal["orders", "ranks", "ratings"] | None = None,
        random_state: Any = 1,
        threads: int = 0,
        time_limit: float | None = None,
        progress: Progress = None,
    ) -> None:
        self.components = components
        self.method = method
        self.polish = polish
        self.distance = distance
        self.consensus = consensus
        self.init = init
        self.restarts = restarts
        self.iterations = iterations
        self.tolerance = tolerance
        self.accelerate = accelerate
        self.completions = completions
        self.standard_errors = standard_errors
        self.bootstrap = bootstrap
        self.arrays = arrays
        self.random_state = random_state
        self.threads = threads
        self.time_limit = time_limit
        self.progress = progress


class GeneralizedMallowsMixture(RankingModel):
    """Mixture of generalized Mallows models: a dispersion for every stage of the ranking.

    In a generalized Mallows model every group has one order it agrees on, and each place has its own strictness: voters may agree on the
    top and not care about the bottom.

    The family ``gmallows`` of the command line. Methods:

    - ``em``: EM with exact or local consensus from many starts; code s takes top-t ballots. Takes complete, top-t, voters.

    Parameters
    ----------
    components : int or "auto", default "auto"
        number of groups; auto: as many as the ballots show (1 to 1000)
    code : {"s", "v"}, default "s"
        stages: s, by place in the ballot (top-t allowed); v, by place in the center (complete rankings)
    consensus : {"auto", "borda", "local", "exact"}, default "auto"
        how centers are found; auto is exact within a node limit
    init : {"auto", "spectral", "kmeans", "random", "tensor"}, default "auto"
        starting points; auto takes spectral, kmeans and random in turn
    restarts : int or "auto", default "auto"
        number of starts; auto: as many as a fixed amount of work allows, fewer where they agree (1 to 100000)
    iterations : int, default 2000
        most EM iterations of one start (1 to 1000000000)
    tolerance : number, default 1e-10
        relative gain still to be had that counts as converged (0 to 1)
    accelerate : bool, default True
        SQUAREM steps on weights and dispersions
    standard_errors : bool, default True
        of dispersions and weights
    bootstrap : number, default 0
        resamples for the stability of the consensus; 0: none (0 to 1000000)
    arrays : Literal["orders", "ranks", "ratings"] | None, default None
        what numpy arrays and frames given as X hold; never guessed
    random_state : Any, default 1
        seed of all random numbers; same seed, same result. None is 1; a numpy generator gives a fresh one
    threads : int, default 0
        number of threads, 0 for all cores; the result does not depend on it
    time_limit : float | None, default None
        stop after this many seconds with the best result so far
    progress : Progress, default None
        True or False for a bar (by tqdm), or a function of (phase, iteration, limit, objective); None: a bar where a person looks and the
        fit takes longer than a second
    """

    _family = "gmallows"
    _own = ("components", "code", "consensus", "init", "restarts", "iterations", "tolerance", "accelerate", "standard_errors", "bootstrap",)

    def __init__(
        self,
        components: int | Literal["auto"] = "auto",
        *,
        code: Literal["s", "v"] = "s",
        consensus: Literal["auto", "borda", "local", "exact"] = "auto",
        init: Literal["auto", "spectral", "kmeans", "random", "tensor"] = "auto",
        restarts: int | Literal["auto"] = "auto",
        iterations: int = 2000,
        tolerance: float = 1e-10,
        accelerate: bool = True,
        standard_errors: bool = True,
        bootstrap: float = 0,
        arrays: Literal["orders", "ranks", "ratings"] | None = None,
        random_state: Any = 1,
        threads: int = 0,
        time_limit: float | None = None,
        progress: Progress = None,
    ) -> None:
        self.components = components
        self.code = code
        self.consensus = consensus
        self.init = init
        self.restarts = restarts
        self.iterations = iterations
        self.tolerance = tolerance
        self.accelerate = accelerate
        self.standard_errors = standard_errors
        self.bootstrap = bootstrap
        self.arrays = arrays
        self.random_state = random_state
        self.threads = threads
        self.time_limit = time_limit
        self.progress = progress


class MultiplicativeMallows(RankingModel):
    """Multiplicative mixture of Mallows models: every ballot is a weighted product of two groups.

    In this model there are a few orders, and every voter blends two of them with weights of his or her own.

    The family ``m4`` of the command line. Methods:

    - ``exact``: alternation with exact weights, dispersions and consensus rankings. Takes complete.
    - ``cccp``: the paper's majoriser, minimised exactly. Takes complete.
    - ``sgd``: the paper's majoriser by stochastic gradients. Takes complete.
    - ``searchpi``: the paper's joint greedy search of all consensus rankings. Takes complete.

    Parameters
    ----------
    components : int or "auto", default "auto"
        number of groups; auto: as many as the ballots show (1 to 50)
    method : {"exact", "cccp", "sgd", "searchpi"}, default "exact"
        how weights and dispersions are solved
    normalizer : {"paper", "exact"}, default "paper"
        the paper's product formula, or the sum over all rankings
    restarts : int, default 10
        number of starts from k-means (1 to 100000)
    iterations : int, default 200
        most rounds of one start (1 to 1000000000)
    tolerance : number, default 1e-08
        relative fall of the objective that counts as converged (0 to 1)
    step : number, default 0.05
        sgd: first step size (0 to 1000000)
    decay : number, default 2
        sgd: step size falls like i^-decay (0 to 10)
    arrays : Literal["orders", "ranks", "ratings"] | None, default None
        what numpy arrays and frames given as X hold; never guessed
    random_state : Any, default 1
        seed of all random numbers; same seed, same result. None is 1; a numpy generator gives a fresh one
    threads : int, default 0
        number of threads, 0 for all cores; the result does not depend on it
    time_limit : float | None, default None
        stop after this many seconds with the best result so far
    progress : Progress, default None
        True or False for a bar (by tqdm), or a function of (phase, iteration, limit, objective); None: a bar where a person looks and the
        fit takes longer than a second
    """

    _family = "m4"
    _own = ("components", "method", "normalizer", "restarts", "iterations", "tolerance", "step", "decay",)

    def __init__(
        self,
        components: int | Literal["auto"] = "auto",
        *,
        method: Literal["exact", "cccp", "sgd", "searchpi"] = "exact",
        normalizer: Literal["paper", "exact"] = "paper",
        restarts: int = 10,
        iterations: int = 200,
        tolerance: float = 1e-08,
        step: float = 0.05,
        decay: float = 2,
        arrays: Literal["orders", "ranks", "ratings"] | None = None,
        random_state: Any = 1,
        threads: int = 0,
        time_limit: float | None = None,
        progress: Progress = None,
    ) -> None:
        self.components = components
        self.method = method
        self.normalizer = normalizer
        self.restarts = restarts
        self.iterations = iterations
        self.tolerance = tolerance
        self.step = step
        self.decay = decay
        self.arrays = arrays
        self.random_state = random_state
        self.threads = threads
        self.time_limit = time_limit
        self.progress = progress


class DirichletProcessMallows(RankingModel):
    """Dirichlet process mixture of generalized Mallows models: finds the number of groups by itself.

    The number of groups is not set beforehand: it is found together with its uncertainty. Each group has an order it agrees on and a
    strictness for each place.

    The family ``dpm`` of the command line. Methods:

    - ``exact-gibbs``: collapsed Gibbs sampling with the exact integral over theta: right for all lengths. Takes complete, top-t, voters.
    - ``beta-gibbs``: Figure 5 of Meila & Chen (2010): the integral's Beta approximation, fast, for t well below n. Takes complete, top-t,
      voters.
    - ``slice-gibbs``: Figures 1-3 of Meila & Chen (2010): theta kept and drawn by slice sampling. Takes complete, top-t, voters.

    Parameters
    ----------
    method : {"exact-gibbs", "beta-gibbs", "slice-gibbs"}, default "exact-gibbs"
        sampler: exact integral over theta, its Beta approximation, or theta drawn by slices
    alpha : number, default 1
        concentration of the Dirichlet process: larger makes more clusters (1e-12 to 1000000000)
    alpha_prior : str, default "none"
        shape,rate of a Gamma prior: alpha is then sampled (none: alpha stays fixed)
    nu : number, default 1
        strength of the prior on theta, in ballots (1e-06 to 1000000000)
    r : str, default "1"
        prior mean code of each stage: one number, or a list r_1,r_2,...
    sweeps : int, default 1000
        sweeps per chain, burn-in included (1 to 1000000000)
    burnin : number, default 500
        sweeps dropped from the start of each chain (0 to 1000000000)
    chains : int, default 1
        independent chains, run on threads (1 to 1000)
    thin : int, default 1
        keep every k-th sweep after burn-in (1 to 1000000)
    gibbs_steps : int, default 10
        draws of sigma and theta per cluster and sweep (1 to 10000)
    slice_steps : int, default 3
        slice-gibbs: slice steps per theta (1 to 10000)
    center_move : {"corrected", "paper"}, default "corrected"
        draw of sigma: with the Metropolis correction, or uncorrected as in the paper
    split_merge : number, default 0
        split-merge proposals per sweep (Jain and Neal 2007) (0 to 1000000)
    split_merge_scans : number, default 3
        restricted scans that prepare a split-merge proposal (0 to 1000)
    start_clusters : int, default 20
        clusters of the random start (1 to 1000000)
    start_centers : {"fitted", "random"}, default "fitted"
        centers of the start: drawn given the random clusters, or random too, as in the paper
    center_prior : str, default ""
        a ranking the centers are expected to resemble: item names, best first, comma-separated
    center_strength : number, default 1
        weight of center-prior, in units of nu (0 to 1000000)
    auxiliary : int, default 3
        with center-prior: candidate clusters per ballot (Neal 2000, algorithm 8) (1 to 1000)
    predictive_draws : number or "auto", default "auto"
        draws kept in the model for the posterior predictive of score; auto: 100 to 400, and up to eight times the kept sweeps to take them
        from, until their Monte Carlo error is below 0.01 nats per ballot (0 to 10000)
    draws : str, default ""
        file for one line per kept sweep (CSV)
    draw_assignments : str, default ""
        file for the cluster label of every ballot in every kept sweep (CSV)
    draws_cmdstan : str, default ""
        prefix of one CmdStan CSV per chain: PREFIX-1.csv, ...
    co_clustering : str, default ""
        file for the co-clustering matrix of the ballots (CSV, at most 5000 ballots)
    checkpoint : str, default ""
        file that saves the chains; where it exists, they go on from it
    checkpoint_every : number, default 60
        seconds between two saves (0 to 1000000000)
    arrays : Literal["orders", "ranks", "ratings"] | None, default None
        what numpy arrays and frames given as X hold; never guessed
    random_state : Any, default 1
        seed of all random numbers; same seed, same result. None is 1; a numpy generator gives a fresh one
    threads : int, default 0
        number of threads, 0 for all cores; the result does not depend on it
    time_limit : float | None, default None
        stop after this many seconds with the best result so far
    progress : Progress, default None
        True or False for a bar (by tqdm), or a function of (phase, iteration, limit, objective); None: a bar where a person looks and the
        fit takes longer than a second
    """

    _family = "dpm"
    _own = ("method", "alpha", "alpha_prior", "nu", "r", "sweeps", "burnin", "chains", "thin", "gibbs_steps", "slice_steps", "center_move",
        "split_merge", "split_merge_scans", "start_clusters", "start_centers", "center_prior", "center_strength", "auxiliary",
        "predictive_draws", "draws", "draw_assignments", "draws_cmdstan", "co_clustering", "checkpoint", "checkpoint_every",)

    def __init__(
        self,
        *,
        method: Literal["exact-gibbs", "beta-gibbs", "slice-gibbs"] = "exact-gibbs",
        alpha: float = 1,
        alpha_prior: str | os.PathLike[str] | Sequence[float] = "none",
        nu: float = 1,
        r: str | os.PathLike[str] | Sequence[float] = "1",
        sweeps: int = 1000,
        burnin: float = 500,
        chains: int = 1,
        thin: int = 1,
        gibbs_steps: int = 10,
        slice_steps: int = 3,
        center_move: Literal["corrected", "paper"] = "corrected",
        split_merge: float = 0,
        split_merge_scans: float = 3,
        start_clusters: int = 20,
        start_centers: Literal["fitted", "random"] = "fitted",
        center_prior: str | os.PathLike[str] | Sequence[float] = "",
        center_strength: float = 1,
        auxiliary: int = 3,
        predictive_draws: float | Literal["auto"] = "auto",
        draws: str | os.PathLike[str] | Sequence[float] = "",
        draw_assignments: str | os.PathLike[str] | Sequence[float] = "",
        draws_cmdstan: str | os.PathLike[str] | Sequence[float] = "",
        co_clustering: str | os.PathLike[str] | Sequence[float] = "",
        checkpoint: str | os.PathLike[str] | Sequence[float] = "",
        checkpoint_every: float = 60,
        arrays: Literal["orders", "ranks", "ratings"] | None = None,
        random_state: Any = 1,
        threads: int = 0,
        time_limit: float | None = None,
        progress: Progress = None,
    ) -> None:
        self.method = method
        self.alpha = alpha
        self.alpha_prior = alpha_prior
        self.nu = nu
        self.r = r
        self.sweeps = sweeps
        self.burnin = burnin
        self.chains = chains
        self.thin = thin
        self.gibbs_steps = gibbs_steps
        self.slice_steps = slice_steps
        self.center_move = center_move
        self.split_merge = split_merge
        self.split_merge_scans = split_merge_scans
        self.start_clusters = start_clusters
        self.start_centers = start_centers
        self.center_prior = center_prior
        self.center_strength = center_strength
        self.auxiliary = auxiliary
        self.predictive_draws = predictive_draws
        self.draws = draws
        self.draw_assignments = draw_assignments
        self.draws_cmdstan = draws_cmdstan
        self.co_clustering = co_clustering
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.arrays = arrays
        self.random_state = random_state
        self.threads = threads
        self.time_limit = time_limit
        self.progress = progress


class MallowsKDE(RankingModel):
    """Kernel density of partial rankings with a Mallows kernel: a smooth histogram, no groups.

    There are no groups here: every ranking in the data spreads some probability to rankings like it.

    The family ``kde`` of the command line. Methods:

    - ``parzen``: one kernel per ballot, closed-form sums over the complete rankings behind partial ones. Takes complete, top-t, ties.

    Parameters
    ----------
    theta : number or "auto", default "auto"
        kernel width: larger is narrower (auto: by leave-one-out likelihood) (0 to 50)
    left_out : int, default 1000
        theta auto: at most this many ballots are left out in turn (1 to 1000000000)
    arrays : Literal["orders", "ranks", "ratings"] | None, default None
        what numpy arrays and frames given as X hold; never guessed
    random_state : Any, default 1
        seed of all random numbers; same seed, same result. None is 1; a numpy generator gives a fresh one
    threads : int, default 0
        number of threads, 0 for all cores; the result does not depend on it
    time_limit : float | None, default None
        stop after this many seconds with the best result so far
    progress : Progress, default None
        True or False for a bar (by tqdm), or a function of (phase, iteration, limit, objective); None: a bar where a person looks and the
        fit takes longer than a second
    """

    _family = "kde"
    _own = ("theta", "left_out",)

    def __init__(
        self,
        *,
        theta: float | Literal["auto"] = "auto",
        left_out: int = 1000,
        arrays: Literal["orders", "ranks", "ratings"] | None = None,
        random_state: Any = 1,
        threads: int = 0,
        time_limit: float | None = None,
        progress: Progress = None,
    ) -> None:
        self.theta = theta
        self.left_out = left_out
        self.arrays = arrays
        self.random_state = random_state
        self.threads = threads
        self.time_limit = time_limit
        self.progress = progress


class EBMS(RankingModel):
    """Exponential blurring mean-shift: ballots drift together until the groups are left.

    Rankings drift towards the rankings around them until they meet; those that meet are a group.

    The family ``ebms`` of the command line. Methods:

    - ``blurring``: all ballots move at once to the consensus of their neighbourhood. Takes complete, top-t.

    Parameters
    ----------
    theta : number or "auto", default "auto"
        kernel width (auto: from the mean distance, before every pass) (0 to 50)
    iterations : int, default 100
        largest number of passes (1 to 100000)
    limit : int, default 20000
        refuse more distinct ballots than this: the cost is quadratic (1 to 1000000000)
    arrays : Literal["orders", "ranks", "ratings"] | None, default None
        what numpy arrays and frames given as X hold; never guessed
    random_state : Any, default 1
        seed of all random numbers; same seed, same result. None is 1; a numpy generator gives a fresh one
    threads : int, default 0
        number of threads, 0 for all cores; the result does not depend on it
    time_limit : float | None, default None
        stop after this many seconds with the best result so far
    progress : Progress, default None
        True or False for a bar (by tqdm), or a function of (phase, iteration, limit, objective); None: a bar where a person looks and the
        fit takes longer than a second
    """

    _family = "ebms"
    _own = ("theta", "iterations", "limit",)

    def __init__(
        self,
        *,
        theta: float | Literal["auto"] = "auto",
        iterations: int = 100,
        limit: int = 20000,
        arrays: Literal["orders", "ranks", "ratings"] | None = None,
        random_state: Any = 1,
        threads: int = 0,
        time_limit: float | None = None,
        progress: Progress = None,
    ) -> None:
        self.theta = theta
        self.iterations = iterations
        self.limit = limit
        self.arrays = arrays
        self.random_state = random_state
        self.threads = threads
        self.time_limit = time_limit
        self.progress = progress


class PlackettLuceRegression(RegressionModel):
    """What covariates say about classes or ballots.

    Every feature gives every outcome a share; the larger an outcome's total, the likelier it comes first. A coefficient of zero means the
    feature says nothing for that outcome.

    The family ``pl-regression`` of the command line. Methods:

    - ``em``: most probable weights, some of them exactly zero. Takes complete, top-t, subset, pairwise.
    - ``gibbs``: the whole posterior by sampling. Takes complete, top-t, subset, pairwise.
    - ``variational``: the posterior by independent Gamma factors. Takes complete, top-t, subset, pairwise.

    Parameters
    ----------
    method : {"em", "gibbs", "variational", "logit-lasso"}, default "em"
        em, gibbs, variational, or the rival logit-lasso
    a : str, default "auto"
        shape of the Gamma prior: a number, learn (gibbs, variational), cv (em), auto (em: 1; others: learn)
    b : number or "auto", default "auto"
        rate of the Gamma prior; auto is 0 for em with a = 1 and 1 otherwise (0 to 1e+12)
    iterations : int, default 50000
        em, variational: limit of steps (1 to 1000000000)
    tolerance : number or "auto", default "auto"
        em, variational: gain of the objective per row below which a fit has converged; auto is 1e-14 (em: still to be had) or 1e-12
        (variational: of a step) (0 to 1)
    sweeps : int, default 10000
        samplers: sweeps of each chain, burn-in included (1 to 1000000000)
    burnin : number or "auto", default "auto"
        samplers: sweeps dropped; auto is half of the sweeps (0 to 1000000000)
    thin : int or "auto", default "auto"
        samplers: keep every so many sweeps; auto is 1, more where memory would pass 256 MB (1 to 1000000)
    chains : int, default 2
        samplers: chains, run in parallel (1 to 256)
    draws : int, default 1000
        draws in the model file that predictions average over (1 to 1000000)
    a_min : number, default 0.0001
        smallest a when it is learned (1e-12 to 1000000)
    a_max : number, default 100
        largest a when it is learned (1e-12 to 1000000000)
    a_step : {"collapsed", "given-weights"}, default "collapsed"
        gibbs: draw of a with the weights integrated out, or given the weights (mixes slowly)
    folds : int, default 5
        folds of cross-validation for a (2 to 100)
    lasso_shape : number, default 1
        logit-lasso: shape of the Gamma prior of theta (1e-06 to 1000000)
    lasso_rate : number, default 1
        logit-lasso: rate of the Gamma prior of theta (1e-06 to 1000000)
    intercept_variance : number, default 100
        logit-lasso: prior variance of the intercepts (1e-06 to 1000000000)
    checkpoint : str, default ""
        save what was done in this file now and then, and go on from it where it exists
    checkpoint_every : number, default 60
        seconds between two saves (0 to 1000000000)
    features : Sequence[str], default ()
        further features: "exp(x1 + x2)", "gauss(age, 0, 1)", "bumps(all, 5)"
    categorical : Sequence[str], default ()
        columns of codes to treat as categories; columns with text always are
    ignore : Sequence[str], default ()
        columns to leave out, such as identifiers
    missing : Literal["error", "drop", "mean"], default "error"
        missing values: error, drop (the row) or mean (of the column)
    random_state : Any, default 1
        seed of all random numbers; same seed, same result. None is 1; a numpy generator gives a fresh one
    threads : int, default 0
        number of threads, 0 for all cores; the result does not depend on it
    time_limit : float | None, default None
        stop after this many seconds with the best result so far
    progress : Progress, default None
        True or False for a bar (by tqdm), or a function of (phase, iteration, limit, objective); None: a bar where a person looks and the
        fit takes longer than a second
    """

    _family = "pl-regression"
    _own = ("method", "a", "b", "iterations", "tolerance", "sweeps", "burnin", "thin", "chains", "draws", "a_min", "a_max", "a_step",
        "folds", "lasso_shape", "lasso_rate", "intercept_variance", "checkpoint", "checkpoint_every",)

    def __init__(
        self,
        *,
        method: Literal["em", "gibbs", "variational", "logit-lasso"] = "em",
        a: str | os.PathLike[str] | Sequence[float] = "auto",
        b: float | Literal["auto"] = "auto",
        iterations: int = 50000,
        tolerance: float | Literal["auto"] = "auto",
        sweeps: int = 10000,
        burnin: float | Literal["auto"] = "auto",
        thin: int | Literal["auto"] = "auto",
        chains: int = 2,
        draws: int = 1000,
        a_min: float = 0.0001,
        a_max: float = 100,
        a_step: Literal["collapsed", "given-weights"] = "collapsed",
        folds: int = 5,
        lasso_shape: float = 1,
        lasso_rate: float = 1,
        intercept_variance: float = 100,
        checkpoint: str | os.PathLike[str] | Sequence[float] = "",
        checkpoint_every: float = 60,
        features: Sequence[str] = (),
        categorical: Sequence[str] = (),
        ignore: Sequence[str] = (),
        missing: Literal["error", "drop", "mean"] = "error",
        random_state: Any = 1,
        threads: int = 0,
        time_limit: float | None = None,
        progress: Progress = None,
    ) -> None:
        self.method = method
        self.a = a
        self.b = b
        self.iterations = iterations
        self.tolerance = tolerance
        self.sweeps = sweeps
        self.burnin = burnin
        self.thin = thin
        self.chains = chains
        self.draws = draws
        self.a_min = a_min
        self.a_max = a_max
        self.a_step = a_step
        self.folds = folds
        self.lasso_shape = lasso_shape
        self.lasso_rate = lasso_rate
        self.intercept_variance = intercept_variance
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.features = features
        self.categorical = categorical
        self.ignore = ignore
        self.missing = missing
        self.random_state = random_state
        self.threads = threads
        self.time_limit = time_limit
        self.progress = progress


#: The estimator of each family of models of rankings.
FAMILIES: dict[str, type[RankingModel]] = {
    "pl": PlackettLuceMixture,
    "mallows": MallowsMixture,
    "gmallows": GeneralizedMallowsMixture,
    "m4": MultiplicativeMallows,
    "dpm": DirichletProcessMallows,
    "kde": MallowsKDE,
    "ebms": EBMS,
}
