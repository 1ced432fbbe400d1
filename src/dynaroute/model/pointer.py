"""RL: the pointer network of Nazari et al. (2018), with element-wise embeddings and a recurrent decoder.

Equations are numbered as in their paper. A node i is x^i_t = (s^i, d^i_t): the static s^i is its position, the dynamic
d^i_t its demand (0 once served) and the vehicle's remaining load. Each node is embedded by itself, and an LSTM
remembers the visits. Their dropout is left out, because replaying a solution would draw different numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import NamedTuple

import torch
from torch import Tensor, nn

from dynaroute.base.errors import ModelError
from dynaroute.kernels import kernels_run_on
from dynaroute.model.config import PolicyConfig
from dynaroute.model.policy import KINDS, Left, Policy, PolicyKind
from dynaroute.model.state import RouteState

_WIDEST = 256  # most columns that a kernel can hold


@dataclass(frozen=True)
class PointerConfig(PolicyConfig):
    """Settings of a pointer network. Only `dimension`, of embeddings and of the LSTM's state, can be set."""

    heads: int = 1
    layers: int = 1
    feed_forward: int = 1
    depot_features: int = 2
    shrinking_mean: bool = False
    logit_query: bool = False
    kind: str = "RL"  # type: ignore[assignment]
    dynamic = False

    def __post_init__(self, dynamic: bool | None = None) -> None:  # noqa: RUF033 (as in the class above)
        super().__post_init__(dynamic)
        for field in fields(self):
            if field.name != "dimension" and getattr(self, field.name) != field.default:
                raise ModelError.about(
                    field.name,
                    f"{field.name} is {getattr(self, field.name)!r}, which a pointer network does not have.",
                    "Leave it out: dimension is its only setting.",
                )

    @property
    def title(self) -> str:
        """Description of the kind."""
        return "pointer network (RL)"

    def describe(self) -> str:
        """Describe the settings."""
        return f"{self.title}, dimension {self.dimension}"


class PointerMemory(NamedTuple):
    """The memory of a pointer network while P vehicles drive.

    Attributes
    ----------
    places
        (P, M, 2) positions s of the nodes.
    demands
        (P, M) demand / capacity of the nodes, served or not.
    is_node
        (P, M) false for padding.
    in_attention, in_pointer
        (P, M, d) from `PointerNetwork.place`.
    hidden, cell
        (P, d) state of the LSTM.
    folded
        The result of `PointerNetwork.fold`.
    """

    places: Tensor
    demands: Tensor
    is_node: Tensor
    in_attention: Tensor
    in_pointer: Tensor
    hidden: Tensor
    cell: Tensor
    folded: Tensor

    def take(self, rows: Tensor) -> PointerMemory:
        """Select the (Q,) vehicles in `rows`, which may repeat."""
        *of_vehicles, folded = self
        return PointerMemory._make([*(part[rows] for part in of_vehicles), folded])


class PointerSteps(NamedTuple):
    """S steps of each of P vehicles.

    Attributes
    ----------
    places
        (P, M, 2) positions s^i.
    in_attention, in_pointer
        (P, M, d) from `PointerNetwork.place`.
    demands
        (P, S, M) remaining demand / capacity of each node: d^i_t.
    load
        (P, S) remaining load / capacity: the other dynamic element, the same for all nodes.
    hidden
        (P, S, d) h_t, state of the LSTM.
    is_node
        (P, M) false for padding.
    feasible
        (P, S, M) feasible next nodes.
    """

    places: Tensor
    in_attention: Tensor
    in_pointer: Tensor
    demands: Tensor
    load: Tensor
    hidden: Tensor
    is_node: Tensor
    feasible: Tensor


class PointerNetwork(Policy):
    """p(y_{t+1} | Y_t, X_t) of eqs 3 to 6. Parameters are those of `Policy`, with RL's settings as default."""

    config: PointerConfig

    def _make_parts(self) -> None:
        dimension = self.config.dimension
        self.embed_static = nn.Linear(2, dimension)  # theirs is a convolution of width 1, which is the same
        self.embed_dynamic = nn.Linear(2, dimension)
        self.recurrent = nn.LSTM(dimension, dimension, batch_first=True)
        self.attention = nn.Linear(3 * dimension, dimension, bias=False)  # W_a of eq 5
        self.attention_score = nn.Linear(dimension, 1, bias=False)  # v_a
        self.pointer = nn.Linear(4 * dimension, dimension, bias=False)  # W_c of eq 6
        self.pointer_score = nn.Linear(dimension, 1, bias=False)  # v_c

    @property
    def known_kind(self) -> str:
        """The pointer network's own."""
        return "RL"

    @property
    def encodes_anew(self) -> bool:
        """False: nodes are embedded once, each by itself."""
        return False

    def fold(self) -> Tensor:
        """Fold W_a and W_c with the embeddings: (3 d, 5) matrices on (x, y, 1, demand, load).

        An embedded node is affine in these numbers, x̄ = X (x, y, 1, demand, load), and so are all products with it. So
        is the context: attention weights sum to 1, so c = X times the weighted mean of the numbers.
        """
        dimension = self.config.dimension
        static, dynamic = self.embed_static, self.embed_dynamic
        nothing = torch.zeros_like(static.weight)  # (d, 2)
        embedding = torch.cat(
            [
                torch.cat([static.weight, static.bias[:, None], nothing], 1),
                torch.cat([nothing, dynamic.bias[:, None], dynamic.weight], 1),
            ]
        )  # (2 d, 5): X
        into_attention = self.attention.weight[:, : 2 * dimension] @ embedding
        of_node, of_context = self.pointer.weight.chunk(2, dim=1)
        return torch.cat([into_attention, of_node @ embedding, of_context @ embedding])

    def begin(self, left: Left, folded: Tensor) -> PointerMemory:  # type: ignore[override]
        """Start at the depot, which is the LSTM's first input."""
        padded = left.packing.pad(left.features)  # (P, M, 3)
        places = padded[..., :2]
        state = torch.zeros(len(places), self.config.dimension, dtype=places.dtype, device=places.device)
        placed = self.place(places, folded)
        memory = PointerMemory(places, padded[..., 2], left.packing.is_token, *placed, state, state, folded)
        return self._visit(memory, places[:, 0])

    def begin_exactly(self, left: Left, folded: Tensor) -> PointerMemory:  # type: ignore[override]
        """Same as `begin`, which has no kink."""
        return self.begin(left, folded)

    def logits(self, memory: PointerMemory, state: RouteState) -> Tensor:  # type: ignore[override]
        """Compute eqs 4 to 6: (P, M) logits of the next node, minus infinity if infeasible."""
        load = state.remaining.to(memory.hidden.dtype) / state.capacity.to(memory.hidden.dtype)  # (P,)
        steps = PointerSteps(
            places=memory.places,
            in_attention=memory.in_attention,
            in_pointer=memory.in_pointer,
            demands=(memory.demands * state.is_open)[:, None],
            load=load[:, None],
            hidden=memory.hidden[:, None],
            is_node=memory.is_node,
            feasible=state.feasible()[:, None],
        )
        return self.point(steps, memory.folded).squeeze(1)

    def advance(self, memory: PointerMemory, state: RouteState, chosen: Tensor) -> PointerMemory:  # type: ignore[override]
        """Feed the (P,) chosen nodes' positions to the LSTM."""
        return self._visit(memory, memory.places.gather(1, chosen[:, None, None].expand(-1, 1, 2)).squeeze(1))

    def place(self, places: Tensor, folded: Tensor) -> tuple[Tensor, Tensor]:
        """Compute (P, M, d) shares of (P, M, 2) static elements in W_a x̄ and in W_c x̄, which no step changes."""
        in_attention, in_pointer, _ = folded.chunk(3)  # (d, 5) each
        attention, pointer = (places @ part[:, :2].T + part[:, 2] for part in (in_attention, in_pointer))
        return attention, pointer

    def remember(self, visited: Tensor) -> Tensor:
        """Compute (P, S, d) states h_t after each of S visits to (P, S, 2) places, all at once."""
        hidden: Tensor = self.recurrent(self.embed_static(visited))[0]
        return hidden

    def point(self, steps: PointerSteps, folded: Tensor) -> Tensor:
        """Compute eqs 4 to 6: (P, S, M) logits, minus infinity if infeasible.

        This is the one plain statement of a step. Construction asks for one step, replay for all of them.
        """
        in_attention, in_pointer, of_context = folded.chunk(3)  # (d, 5) each
        query = steps.hidden @ self.attention.weight[:, 2 * self.config.dimension :].T  # (P, S, d)
        scores = self._score(steps, steps.in_attention, in_attention, query, self.attention_score)  # u_t of eq 5
        weights = scores.masked_fill(~steps.is_node[:, None], -torch.inf).softmax(-1)  # a_t of eq 5
        # c_t of eq 4 before embedding: the weighted mean of (x, y, 1, demand, load)
        place = weights @ steps.places  # (P, S, 2)
        demand = (weights * steps.demands).sum(-1)  # (P, S)
        context = torch.stack([place[..., 0], place[..., 1], torch.ones_like(demand), demand, steps.load], -1)
        asked = context @ of_context.T  # (P, S, d)
        logits = self._score(steps, steps.in_pointer, in_pointer, asked, self.pointer_score)  # ũ_t of eq 6
        return logits.masked_fill(~steps.feasible, -torch.inf)

    def _score(self, steps: PointerSteps, at_place: Tensor, of_node: Tensor, query: Tensor, score: nn.Linear) -> Tensor:
        """(P, S, M) v^T tanh(W [x̄; query]), where W x̄ is `of_node` times (x, y, 1, demand, load)."""
        query = torch.addcmul(query, steps.load[..., None], of_node[:, 4])  # (P, S, d)
        if not self.has_kernels:
            return score_plainly(at_place, steps.demands, of_node[:, 3], query, score.weight[0])
        from dynaroute.kernels.pointer_score import PointerScore

        scores: Tensor = PointerScore.apply(at_place, steps.demands, of_node[:, 3], query, score.weight[0])  # type: ignore[no-untyped-call]
        return scores

    @property
    def has_kernels(self) -> bool:
        """Whether a kernel computes the scores, without an array of all steps, nodes and columns."""
        width = self.config.dimension
        fits = 16 <= width <= _WIDEST and width & (width - 1) == 0
        return fits and self.dtype == torch.float32 and kernels_run_on(self.device)

    def train(self, mode: bool = True) -> PointerNetwork:
        """Set the mode, but keep the LSTM in training mode: it has no dropout, and cuDNN needs that for gradients."""
        super().train(mode)
        self.recurrent.train()
        return self

    def _visit(self, memory: PointerMemory, place: Tensor) -> PointerMemory:
        """Return the memory after visits to (P, 2) places."""
        recurrent = self.recurrent
        if recurrent._forward_hooks or recurrent._forward_pre_hooks:
            state = (memory.hidden[None].contiguous(), memory.cell[None].contiguous())
            _, (hidden, cell) = recurrent(self.embed_static(place)[:, None], state)
            return memory._replace(hidden=hidden[0], cell=cell[0])
        # one step as a cell, which takes a few launches instead of dozens
        state = (memory.hidden, memory.cell)
        hidden, cell = torch.lstm_cell(self.embed_static(place), state, *recurrent.all_weights[0])
        return memory._replace(hidden=hidden, cell=cell)

    def _initialise(self, generator: torch.Generator) -> None:
        super()._initialise(generator)
        bound = self.config.dimension**-0.5
        for parameter in self.recurrent.parameters():
            nn.init.uniform_(parameter, -bound, bound, generator=generator)


def score_plainly(places: Tensor, demands: Tensor, of_demand: Tensor, query: Tensor, weight: Tensor) -> Tensor:
    """Compute (P, S, M) v^T tanh(A + D e + Q), with A (P, M, d), D (P, S, M), e (d,), Q (P, S, d) and v (d,).

    Twin of `dynaroute.kernels.pointer_score`.
    """
    inner = torch.addcmul(places[:, None], demands[..., None], of_demand)  # (P, S, M, d)
    # in place, because this array is as large as all others together
    return inner.add_(query[:, :, None]).tanh_() @ weight


KINDS["RL"] = PolicyKind(PointerConfig, PointerNetwork)
