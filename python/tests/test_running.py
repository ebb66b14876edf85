"""While a fit runs: the lock, progress, Ctrl-C, threads, forks, pickles."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import caucus


def long_fit(**more):
    """A sampler that would run for hours."""
    return caucus.DirichletProcessMallows(sweeps=100_000_000, burnin=1, thin=1_000_000, **more)


def test_other_threads_run_during_a_fit(town):
    """The interpreter's lock is free: a thread counts on while a fit of about a second runs."""
    ticks = []
    done = threading.Event()

    def count():
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.005)

    counter = threading.Thread(target=count)
    counter.start()
    begun = time.perf_counter()
    long_fit(time_limit=1.0).fit(town)
    ended = time.perf_counter()
    done.set()
    counter.join()
    during = [tick for tick in ticks if begun < tick < ended]
    # Held throughout, the lock would let it count once or twice; a loaded machine slows it, so one in ten of the 200 is enough.
    assert len(during) > 20
    assert max(np.diff([begun, *during, ended])) < 0.5


def test_several_threads_fit_at_once(town):
    alone = [caucus.PlackettLuceMixture(k).fit(town).to_dict()["components"] for k in (1, 2, 3, 4)]
    models = [caucus.PlackettLuceMixture(k) for k in (1, 2, 3, 4)] * 2
    threads = [threading.Thread(target=model.fit, args=(town,)) for model in models]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for place, model in enumerate(models):
        assert model.to_dict()["components"] == alone[place % 4]


def test_progress_function(complete):
    seen = []
    long_fit(time_limit=1.0, progress=lambda *report: seen.append(report)).fit(complete)
    assert len(seen) >= 2
    phase, iteration, limit, objective = seen[-1]
    assert isinstance(phase, str) and iteration >= seen[0][1] and limit == 100_000_000 and objective < 0


def test_progress_by_tqdm(complete, capsys, monkeypatch):
    tqdm = pytest.importorskip("tqdm")
    assert tqdm
    monkeypatch.setattr("caucus._progress._DELAY", 0.0)
    long_fit(time_limit=1.0, progress=True).fit(complete)
    assert "sweep" in capsys.readouterr().err
    long_fit(time_limit=0.3, progress=False).fit(complete)
    assert capsys.readouterr().err == ""


def test_progress_without_tqdm(town, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    assert caucus.PlackettLuceMixture(1, progress=True).fit(town).converged_


def test_a_progress_function_that_raises_ends_the_fit_and_keeps_the_result(complete):
    def refuse(*report):
        raise RuntimeError("enough")

    model = long_fit(progress=refuse)
    begun = time.perf_counter()
    with pytest.raises(RuntimeError, match="enough"):
        model.fit(complete)
    assert time.perf_counter() - begun < 60
    assert model.stop_reason_ == "interrupted" and model.n_components_ >= 1


def interrupt_soon(seconds=0.5):
    timer = threading.Timer(seconds, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    return timer


def test_keyboard_interrupt_keeps_the_partial_result(complete):
    model = long_fit()
    timer = interrupt_soon()
    begun = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        model.fit(complete)
    timer.join()
    assert time.perf_counter() - begun < 60
    assert model.stop_reason_ == "interrupted" and model.n_components_ >= 1
    assert model.predict(complete).shape == (len(complete),)


def test_keyboard_interrupt_of_a_search_keeps_the_table(town):
    timer = interrupt_soon(1.0)
    with pytest.raises(KeyboardInterrupt) as stopped:
        caucus.select(town, caucus.PlackettLuceMixture(restarts=20000), components="1..50", criterion="bic")
    timer.join()
    found = stopped.value.result
    assert found.model.n_components_ == found.chosen_k and len(found) >= 1


@pytest.mark.parametrize("family", caucus.FAMILIES)
def test_pickles(family, complete):
    short = {"dpm": {"sweeps": 20, "burnin": 5}, "kde": {"theta": 0.8}, "ebms": {"iterations": 10}}.get(family, {"components": 2})
    model = caucus.FAMILIES[family](progress=print, **short)
    assert pickle.loads(pickle.dumps(model)).get_params()["threads"] == 0
    model.fit(complete)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_allclose(copy.predict_proba(complete), model.predict_proba(complete), rtol=1e-9, atol=1e-14)
    assert copy.to_dict() == model.to_dict() and copy.get_params() == model.get_params() | {"progress": None}


def fit_in_child(k):
    return caucus.PlackettLuceMixture(k).fit(caucus.examples.town()).loglik_


def test_forks(town):
    """The parent has used many threads; forked children fit, and find the same."""
    here = [caucus.PlackettLuceMixture(k, threads=4).fit(town).loglik_ for k in (1, 2, 3)]
    with multiprocessing.get_context("fork").Pool(2) as pool:
        there = pool.map_async(fit_in_child, (1, 2, 3)).get(timeout=60)
    assert there == here
    assert caucus.PlackettLuceMixture(3, threads=4).fit(town).loglik_ == here[2]


def test_joblib(town):
    joblib = pytest.importorskip("joblib")
    here = [caucus.PlackettLuceMixture(k).fit(town).loglik_ for k in (1, 2)]
    there = joblib.Parallel(n_jobs=2)(joblib.delayed(lambda k: caucus.PlackettLuceMixture(k).fit(town).loglik_)(k) for k in (1, 2))
    assert there == here


def test_a_script_ends_by_ctrl_c(town):
    script = """
        import caucus, sys, threading, os, signal
        threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        model = caucus.DirichletProcessMallows(sweeps=100_000_000, burnin=1, thin=1_000_000)
        model.fit(caucus.examples.town())
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=60, env=os.environ)
    assert done.returncode == -signal.SIGINT and done.stderr.rstrip().endswith("KeyboardInterrupt")
