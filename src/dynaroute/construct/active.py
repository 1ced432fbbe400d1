"""Active search: a few weights of a policy are tuned on one instance while it samples solutions of it.

After Hottung et al. (2022), whose efficient active search tunes few weights that are added to a policy: here a change
of the matrix that compares the heads' outputs with the nodes (W^K of eq 18), of W^E, and of the weights of distances.
All of them begin at 0, so the first samples are the policy's own. The loss is REINFORCE (eq 27) with the mean of all
samples as baseline, plus the imitation of the best solution so far.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass

import torch
from torch import Tensor

from dynaroute.base.errors import UnsupportedError
from dynaroute.batch import InstanceBatch, RouteBatch
from dynaroute.construct.choose import Chooser, Follow, Sample, StepInfo, make_stream_keys
from dynaroute.construct.eager import decide
from dynaroute.construct.strategies import SYMMETRIES, Augmented, Greedy
from dynaroute.model.decoder import Decoder
from dynaroute.model.policy import Policy


@dataclass(frozen=True)
class ActiveSettings:
    """How active search learns.

    Attributes
    ----------
    samples
        Samples of each iteration in each of the eight orientations.
    rate
        Learning rate of Adam.
    imitation
        Weight of -log p of the best solution per customer, beside that of the samples' loss.
    """

    samples: int = 2
    rate: float = 0.003
    imitation: float = 0.1


USUAL_SETTINGS = ActiveSettings()


def search_actively(
    policy: Policy,
    instance: InstanceBatch,
    first: RouteBatch,
    seed: int,
    watch: Callable[[], None],
    settings: ActiveSettings = USUAL_SETTINGS,
) -> Iterator[RouteBatch]:
    """Yield the best solution of every iteration; without an end.

    Parameters
    ----------
    policy
        The policy, which stays as it is.
    instance
        A batch of one instance, on the policy's device.
    first
        Its best solution so far.
    seed
        Seed of the samples.
    watch
        Called before each step; it may raise.
    settings
        How it learns.
    """
    tuned = deepcopy(policy).requires_grad_(False).eval()
    weights = _choose_weights(tuned)
    optimiser = torch.optim.Adam(weights, lr=settings.rate)
    count = SYMMETRIES * settings.samples
    attempt = torch.arange(count + 1, device=instance.device)  # the last follows the best
    copies = instance.repeat_each(count + 1)
    placed = Augmented(Greedy()).place(copies, attempt)
    best, shortest = first, float(first.lengths(instance))
    iteration = 0
    while True:
        sample = Sample(make_stream_keys(seed, placed.keys, attempt + (count + 1) * iteration))
        with torch.enable_grad():
            routes, log_probability = _drive(tuned, placed, _SampleBeside(sample, best, count, watch))
        lengths = routes.lengths(copies)[:count].to(log_probability.dtype)  # (K,)
        if float(lengths.min()) < shortest:
            shortest, best = float(lengths.min()), routes[lengths.argmin()[None]]
        yield best
        advantage = lengths / lengths.mean() - 1  # (K,)
        of_best = log_probability[count] / int(instance.sizes[0])
        loss = (advantage * log_probability[:count]).mean() - settings.imitation * of_best
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        iteration += 1


def _choose_weights(policy: Policy) -> list[Tensor]:
    """Let the weights of the final scores be tuned."""
    decoder = getattr(policy, "decoder", None)
    if not isinstance(decoder, Decoder):
        raise UnsupportedError.about("improve", f"active search does not know {policy.kind}.", "Use AM-D or AM.")
    edge = () if decoder.edge is None else (decoder.edge.weight,)
    distance = () if decoder.distance_weight is None else (decoder.distance_weight,)
    weights = [decoder.logit_key.weight, *edge, *distance]
    for weight in weights:
        weight.requires_grad_(True)
    return list(weights)


@dataclass(frozen=True, eq=False)
class _SampleBeside:
    """Sample with all trajectories but one, which follows the best solution so far."""

    sample: Sample
    best: RouteBatch
    count: int
    watch: Callable[[], None]

    def __call__(self, logits: Tensor, info: StepInfo) -> Tensor:
        self.watch()
        chosen = self.sample(logits, info)
        follow: Chooser = Follow(self.best)
        following = follow(logits, info._replace(trajectory=torch.zeros_like(info.trajectory)))
        return torch.where(info.trajectory == self.count, following, chosen)


def _drive(policy: Policy, batch: InstanceBatch, chooser: Chooser) -> tuple[RouteBatch, Tensor]:
    """Build solutions, and compute their (B,) differentiable log p on the way."""
    routes = RouteBatch.unvisited(batch)
    total = torch.zeros(len(batch), dtype=policy.dtype, device=batch.device)
    for decision in decide(policy, batch, chooser):
        info = decision.info
        total = total.index_add(0, info.trajectory, decision.log_probability())
        node = info.nodes.gather(1, decision.chosen[:, None]).squeeze(1)  # (P,)
        is_customer = node > 0
        place = info.trajectory[is_customer], node[is_customer]
        routes.route[place] = info.route[is_customer].int()
        routes.position[place] = info.position[is_customer].int()
    return routes, total
