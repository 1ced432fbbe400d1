from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from command_line import INSTANCE, invoke
from policies import SMALL_AMD, make_policy

from dynaroute.model import Policy
from dynaroute.training.plan.plan import read_plan
from dynaroute.training.run.state import Outcome
from dynaroute.training.run.trainer import Trainer

TINY = ["--size", "4", "--instances", "4", "--samples", "3", "--validation-count", "10", "--device", "cpu"]


def start(arguments: list[str]) -> subprocess.Popen[str]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "dynaroute", "train", *arguments]
    return subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)


def wait_for_validation(process: subprocess.Popen[str], count: int) -> None:
    """Wait until so many validations have been told."""
    assert process.stderr is not None
    for line in process.stderr:
        count -= "greedy" in line
        if count == 0:
            return
    raise AssertionError("the run ended before it was expected to")


def weights(folder: Path) -> torch.Tensor:
    state = torch.load(folder / "last.pt", weights_only=True)
    return torch.cat([tensor.flatten() for tensor in state["policy"].values()])


def test_a_minute_on_the_cpu_teaches_something(tmp_path: Path) -> None:
    out = tmp_path / "run"
    options = ["--size", "10", "--updates", "25", "--instances", "16", "--samples", "8", "--validation-count", "100"]
    result = invoke("train", *options, "--device", "cpu", "--out", out, "--json")
    assert result.exit_code == 0
    lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    best = json.loads(result.stdout)["validation_length"]
    assert best < 0.75 * lines[0]["validation"]  # a random policy drives home far too often
    assert Policy.from_pretrained(out).card.size == 10
    assert {"plan.toml", "metrics.jsonl", "last.pt", "best.pt", "curve.png", "routes.png", "tensorboard"} <= {
        path.name for path in out.iterdir()
    }


def test_a_part_of_the_samples_may_be_replayed(tmp_path: Path) -> None:
    assert invoke("train", *TINY, "--updates", "1", "--replayed", "2", "--out", tmp_path / "run").exit_code == 0
    assert read_plan(tmp_path / "run" / "plan.toml").stages[0].replayed == 2
    assert "4 x 3 of which 2 replayed" in Policy.from_pretrained(tmp_path / "run").card.recipe


def test_large_instances_may_count_more(tmp_path: Path) -> None:
    assert invoke("train", *TINY, "--updates", "1", "--size-weight", "0.5", "--out", tmp_path / "run").exit_code == 0
    assert read_plan(tmp_path / "run" / "plan.toml").stages[0].size_weight == 0.5
    assert "size weight 0.5" in Policy.from_pretrained(tmp_path / "run").card.recipe


def test_a_killed_run_goes_on_as_if_nothing_had_happened(tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    options = [*TINY, "--updates", "30"]
    assert invoke("train", *options, "--out", whole).exit_code == 0
    process = start([*options, "--out", str(killed)])
    wait_for_validation(process, 4)
    process.kill()
    process.communicate()
    assert invoke("train", "--resume", killed, "--device", "cpu").exit_code == 0
    assert torch.equal(weights(whole), weights(killed))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_saves_and_leaves_with_a_message(tmp_path: Path, number: signal.Signals) -> None:
    process = start([*TINY, "--minutes", "10", "--out", str(tmp_path / "run")])
    wait_for_validation(process, 1)
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "dynaroute train --resume" in errors
    assert (tmp_path / "run" / "last.pt").exists()


def test_two_processes_do_not_train_in_one_folder(tmp_path: Path) -> None:
    process = start([*TINY, "--minutes", "10", "--out", str(tmp_path / "run")])
    wait_for_validation(process, 1)
    again = invoke("train", "--resume", tmp_path / "run", "--device", "cpu")
    process.kill()
    process.communicate()
    assert again.exit_code == 2
    assert "another process" in again.stderr


def test_a_run_is_not_overwritten(tmp_path: Path) -> None:
    options = ["train", *TINY, "--updates", "1", "--out", str(tmp_path)]
    assert invoke(*options).exit_code == 0
    again = invoke(*options)
    assert again.exit_code == 2
    assert "--resume" in again.stderr


def test_a_plan_is_read_from_a_file_and_changed_by_options(tmp_path: Path) -> None:
    assert invoke("train", *TINY, "--updates", "1", "--recipe", "paper", "--out", tmp_path / "one").exit_code == 0
    plan = tmp_path / "one" / "plan.toml"
    assert 'baseline = "greedy"' in plan.read_text()
    options = ["--config", str(plan), "--rate", "0.002", "--device", "cpu", "--out", str(tmp_path / "two")]
    assert invoke("train", *options).exit_code == 0
    changed = (tmp_path / "two" / "plan.toml").read_text()
    assert "rate = 0.002" in changed
    assert 'baseline = "greedy"' in changed


def test_on_a_cpu_updates_and_validations_are_small_unless_said_otherwise(tmp_path: Path) -> None:
    options = ["--size", "2", "--updates", "1", "--device", "cpu"]
    assert invoke("train", *options, "--out", tmp_path / "usual").exit_code == 0
    usual = (tmp_path / "usual" / "plan.toml").read_text()
    assert {"instances = 32", "samples = 16", "replayed = 2"} <= set(usual.splitlines())
    assert "validation_count = 500\n" in usual
    said = ["--instances", "65", "--samples", "2", "--validation-count", "5"]
    assert invoke("train", *options, *said, "--out", tmp_path / "said").exit_code == 0
    changed = (tmp_path / "said" / "plan.toml").read_text()
    assert {"instances = 65", "samples = 2"} <= set(changed.splitlines())
    assert "replayed" not in changed  # all are learned from
    assert "validation_count = 5\n" in changed


def test_which_update_the_model_is_of_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Trainer, "run", lambda trainer: Outcome(6.5, 0, 24, True))
    result = invoke("train", "--size", "2", "--minutes", "1", "--device", "cpu", "--out", tmp_path / "run")
    assert "greedy length 6.5000 on the validation set after update 0 of 24." in result.stdout


def test_a_run_without_an_update_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Trainer, "run", lambda trainer: Outcome(20.5, 0, 0, False))
    result = invoke("train", "--size", "2", "--minutes", "1", "--device", "cpu", "--out", tmp_path / "run")
    assert "no update was made" in result.stderr


def test_one_sample_of_an_instance_has_no_entropy_to_value(tmp_path: Path) -> None:
    options = ["train", *TINY, "--updates", "1", "--samples", "1", "--out", str(tmp_path)]
    assert "shared baseline" in invoke(*options).stderr
    assert invoke(*options, "--baseline", "greedy").exit_code == 0
    assert "entropy = 0.0\n" in (tmp_path / "plan.toml").read_text()


def test_another_model_is_trained_on(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    assert invoke("train", *TINY, "--updates", "1", "--out", first).exit_code == 0
    begun = invoke("train", *TINY, "--updates", "1", "--init", first, "--out", second)
    assert begun.exit_code == 0
    assert f"note: the run begins from {first}, with a peak learning rate of 0.0001 (--rate).\n" in begun.stderr
    assert "; then" in Policy.from_pretrained(second).card.recipe


def test_the_static_policy_is_trained_with_its_own_recipe(tmp_path: Path) -> None:
    result = invoke("train", *TINY, "--recipe", "am", "--samples", "1", "--updates", "2", "--out", tmp_path)
    assert result.exit_code == 0
    assert not Policy.from_pretrained(tmp_path).config.dynamic


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--size", "20"], "--out"),
        (["--out", "x"], "--size"),
        (["--size", "20", "--sizes", "20,50", "--out", "x"], "--size"),
        (["--sizes", "twenty", "--out", "x"], "sizes"),
        (["--resume", "x", "--rate", "1"], "--rate"),
        (["--resume", "x", "--capacity", "30"], "--capacity"),
        (["--resume", "x", "--distribution", "x"], "--distribution"),
        (["--resume", "x", "--validation", "x"], "--validation"),
        (["--config", "x", "--data", "x", "--out", "x"], "--data"),
        (["--distribution", "x", "--capacity", "30", "--out", "x"], "capacities"),
        (["--distribution", "nowhere.toml", "--out", "x"], "nowhere.toml"),
        (["--size", "20", "--validation", "nowhere", "--out", "x"], "nowhere"),
        (["--data", "nowhere", "--out", "x"], "nowhere"),
        (["--resume", "x", "--recipe", "am"], "--recipe"),
        (["--config", "x", "--recipe", "am", "--out", "x"], "--recipe"),
        (["--config", "x", "--size", "20", "--out", "x"], "--size"),
        (["--size", "20", "--init", "am-20", "--out", "x"], "--policy am"),
        (["--size", "20", "--minutes", "1", "--updates", "3", "--out", "x"], "budget"),
        (["--size", "20", "--rate", "-1", "--out", "x"], "rate"),
        (["--size", "20", "--capacity", "5", "--out", "x"], "capacit"),
        (["--size", "20", "--init", "nowhere", "--out", "x"], "nowhere"),
        (["--config", "nowhere.toml", "--out", "x"], "nowhere.toml"),
        (["--resume", "nowhere"], "there is no run here"),
    ],
)
def test_what_makes_no_sense_is_told(
    options: list[str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = invoke("train", *options, "--device", "cpu")
    assert result.exit_code == 2
    assert words in result.stderr


@pytest.mark.parametrize("device", ["nowhere", "meta", "cuda:99"])
def test_a_device_that_cannot_be_used_is_told_and_leaves_no_folder(device: str, tmp_path: Path) -> None:
    result = invoke("train", "--size", "4", "--updates", "1", "--device", device, "--out", tmp_path / "run")
    assert result.exit_code == 2
    assert "device" in result.stderr
    assert not (tmp_path / "run").exists()


def test_a_run_killed_before_its_first_checkpoint_is_begun_again(tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert invoke("train", *TINY, "--updates", "2", "--out", whole).exit_code == 0
    killed.mkdir()
    shutil.copy(whole / "plan.toml", killed)
    assert invoke("train", "--resume", killed, "--device", "cpu").exit_code == 0
    assert torch.equal(weights(whole), weights(killed))


def test_a_run_that_lost_its_last_checkpoint_is_not_begun_again(tmp_path: Path) -> None:
    assert invoke("train", *TINY, "--updates", "1", "--out", tmp_path).exit_code == 0
    (tmp_path / "last.pt").unlink()
    result = invoke("train", "--resume", tmp_path, "--device", "cpu")
    assert result.exit_code == 2
    assert "no checkpoint" in result.stderr


def test_a_run_from_a_model_of_other_dimensions_goes_on_without_it(tmp_path: Path) -> None:
    first, run = tmp_path / "first", tmp_path / "run"
    make_policy(SMALL_AMD).save_pretrained(first)
    assert invoke("train", *TINY, "--updates", "1", "--init", first, "--out", run).exit_code == 0
    shutil.rmtree(first)
    assert invoke("train", "--resume", run, "--device", "cpu").exit_code == 0


def test_a_run_from_another_model_that_was_killed_before_it_had_its_own_goes_on(tmp_path: Path) -> None:
    first, run = tmp_path / "first", tmp_path / "run"
    make_policy(SMALL_AMD).save_pretrained(first)
    assert invoke("train", *TINY, "--updates", "1", "--init", first, "--out", run).exit_code == 0
    for name in ("config.json", "model.safetensors", "best.pt"):
        (run / name).unlink()
    assert invoke("train", "--resume", run, "--device", "cpu").exit_code == 0


def test_capacities_change_a_plan_from_a_file(tmp_path: Path) -> None:
    assert invoke("train", *TINY, "--updates", "1", "--out", tmp_path / "one").exit_code == 0
    plan, out = tmp_path / "one" / "plan.toml", tmp_path / "two"
    assert invoke("train", "--config", plan, "--capacity", "30,40", "--device", "cpu", "--out", out).exit_code == 0
    assert "capacities = [30, 40]" in (tmp_path / "two" / "plan.toml").read_text()


def test_a_run_stopped_before_it_was_measured_has_no_length(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(trainer: Trainer) -> Outcome:
        (trainer.folder / "metrics.jsonl").touch()
        return Outcome(None, 0, 3, True)

    monkeypatch.setattr(Trainer, "run", stop)
    result = invoke("train", *TINY, "--updates", "9", "--out", tmp_path / "one", "--json")
    assert result.exit_code == 130
    assert json.loads(result.stdout)["validation_length"] is None
    assert "not measured" in invoke("train", *TINY, "--updates", "9", "--out", tmp_path / "two").stdout


def test_a_validation_is_one_line_of_a_log(tmp_path: Path) -> None:
    result = invoke("train", *TINY, "--size", "20", "--updates", "1", "--out", tmp_path)
    assert [line for line in result.stderr.splitlines() if "update 0 " in line and line.endswith("% above HGS)")]


def test_a_run_on_a_distribution_of_a_file_goes_on_without_the_file(tmp_path: Path) -> None:
    file, whole, broken = tmp_path / "small.toml", tmp_path / "whole", tmp_path / "broken"
    file.write_text('[[parts]]\nsizes = [3, 7]\ncustomers = ["clustered", "uniform"]\nroute_lengths = "x"\n')
    options = [*TINY[2:], "--distribution", str(file), "--updates", "3"]
    result = invoke("train", *options, "--out", whole)
    assert result.exit_code == 0, result.stderr
    assert "above savings" in result.stdout
    broken.mkdir()
    shutil.copy(whole / "plan.toml", broken)
    file.unlink()
    assert invoke("train", "--resume", broken, "--device", "cpu").exit_code == 0
    assert torch.equal(weights(whole), weights(broken))


def test_own_instances_are_trained_on_and_told_by_their_best_known_costs(tmp_path: Path) -> None:
    folder, out = tmp_path / "mine", tmp_path / "run"
    folder.mkdir()
    (folder / "small.vrp").write_text(INSTANCE)
    (folder / "best.csv").write_text("name,best_known_cost\nsmall,14\n")
    result = invoke("train", *TINY[2:], "--data", folder, "--updates", "2", "--out", out)
    assert result.exit_code == 0, result.stderr
    assert "above best known" in result.stdout
    (folder / "other.vrp").write_text(INSTANCE)
    again = invoke("train", "--resume", out, "--device", "cpu")
    assert again.exit_code == 2
    assert "have changed" in again.stderr


def test_torchrun_trains_with_two_processes(tmp_path: Path) -> None:
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command = [*launcher, "-m", "dynaroute", "train", *TINY, "--updates", "3", "--out", str(tmp_path / "run")]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    result = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert result.returncode == 0, result.stderr
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert lines[-1]["trajectories"] == 3 * 2 * 4 * 3


def test_a_finished_run_is_extended(tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert invoke("train", *TINY, "--updates", "2", "--out", run).exit_code == 0
    result = invoke("train", "--resume", run, "--updates", "3", "--device", "cpu", "--json")
    assert json.loads(result.stdout)["updates"] == 5
    assert "updates = 5" in (run / "plan.toml").read_text()
    assert json.loads(invoke("train", "--resume", run, "--device", "cpu", "--json").stdout)["updates"] == 5
    refused = invoke("train", "--resume", run, "--minutes", "3", "--device", "cpu")
    assert refused.exit_code == 2
    assert "updates" in refused.stderr


def test_a_function_of_ones_own_is_told_every_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_tracker.py").write_text("lines = []\nlog = lines.append\n")
    monkeypatch.chdir(tmp_path)
    assert invoke("train", *TINY, "--updates", "2", "--out", "run", "--track", "my_tracker:log").exit_code == 0
    import my_tracker  # type: ignore[import-not-found]

    assert [line["step"] for line in my_tracker.lines if "validation" in line] == [0, 2]


@pytest.mark.parametrize("name", ["no_such_module:log", "json:no_such_function", "json:__name__", "json", ":log"])
def test_a_tracker_that_is_none_is_refused(tmp_path: Path, name: str) -> None:
    result = invoke("train", *TINY, "--updates", "2", "--out", tmp_path / "run", "--track", name)
    assert result.exit_code == 2
    assert "--track" in result.stderr
