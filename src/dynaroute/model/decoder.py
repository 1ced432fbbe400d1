"""The decoder: from node embeddings and a partial route to the next node (eqs 12 to 20)."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from dynaroute.base.errors import ModelError
from dynaroute.model.config import PolicyConfig
from dynaroute.model.packing import Packing
from dynaroute.model.rules import MOVES, STATES, Outlook

_AT_THE_SAME_PLACE = 1e-4  # added to squared distances, so that their logarithm stays finite
_FIRST_WEIGHT = -0.3  # initial weight of distances in the logits: near nodes are likelier


class Projections(NamedTuple):
    """What construction steps need from the node embeddings, with all matrix products done.

    Attributes
    ----------
    key
        (P heads, d_k, M): keys of eq 13, with the scale of eq 14.
    value
        (P heads, M, d_k): values of eq 13.
    logit_key
        (P, M, d_h): keys of eq 18 for the heads' outputs, with W^O of eq 17 and W^Q of eq 18 folded in.
    graph, last
        (P, M, d_h): a node's contribution to the query as part of the graph mean, and as the last visited node.
    capacity
        (1, d_h): contribution of the remaining capacity, as a fraction, to the query; with edge scores (2, d_h), where
        the second row is its contribution to the heads' outputs.
    places
        (P, M, 2): positions scaled so that neighbours are about 1 apart; None without a distance bias.
    edge
        (P, M, d_h): what a node adds to the heads' outputs as the last visited node; None without edge scores.
    """

    key: Tensor
    value: Tensor
    logit_key: Tensor
    graph: Tensor
    last: Tensor
    capacity: Tensor
    places: Tensor | None = None
    edge: Tensor | None = None

    def at(self, positions: Tensor, packing: Packing) -> Projections:
        """Add places from (T, 2) packed positions."""
        places = packing.pad(positions) * packing.lengths.to(positions.dtype).sqrt()[:, None, None]  # (P, M, 2)
        return self._replace(places=places)

    def take(self, rows: Tensor) -> Projections:
        """Select the (Q,) segments in `rows`, which may repeat."""
        segments = len(self.graph)
        key, value = (
            part.reshape(segments, -1, *part.shape[1:])[rows].flatten(0, 1) for part in (self.key, self.value)
        )  # (Q heads, ...)
        places, edge = (None if part is None else part[rows] for part in (self.places, self.edge))
        logit_key, graph, last = self.logit_key[rows], self.graph[rows], self.last[rows]
        return Projections(key, value, logit_key, graph, last, self.capacity, places, edge)

    def repeat_each(self, times: int) -> Projections:
        """Repeat every segment; the gradient is a plain sum, unlike that of `take`."""
        segments = len(self.graph)

        def repeat(part: Tensor) -> Tensor:
            whole = part.reshape(segments, 1, -1).expand(-1, times, -1)  # (P, times, ...)
            return whole.reshape(-1, *part.shape[1:])

        key, value, logit_key, graph, last = (repeat(part) for part in self[:5])
        places, edge = (None if part is None else repeat(part) for part in (self.places, self.edge))
        return Projections(key, value, logit_key, graph, last, self.capacity, places, edge)

    def to(self, dtype: torch.dtype) -> Projections:
        """Convert to another precision."""
        return Projections(*(None if part is None else part.to(dtype) for part in self))  # type: ignore[arg-type]


class Context(NamedTuple):
    """The context of S steps of each of P segments (eq 12).

    Attributes
    ----------
    mean
        (P, S, d_h): h̄_t, the mean of `Projections.graph` over the graph.
    previous
        (P, S) int64: slot of the last visited node.
    fraction
        (P, S): D_t / D, the remaining capacity.
    outlook
        What else the vehicles see where there are rules beyond capacity; else None.
    """

    mean: Tensor
    previous: Tensor
    fraction: Tensor
    outlook: Outlook | None = None


class _RuleTerms(NamedTuple):
    """What rules beyond capacity add: to the query and the heads' outputs (P, S, d_h), scores, and logits."""

    query: Tensor
    scores: Tensor
    heads: Tensor
    logits: Tensor


class Decoder(nn.Module):
    """Multi-head attention from the context to the nodes, then a single head for the logits.

    Parameters
    ----------
    config
        Settings of the policy.
    """

    def __init__(self, config: PolicyConfig) -> None:
        super().__init__()
        self.config = config
        dimension = config.dimension
        self.context_query = nn.Linear(2 * dimension + 1, dimension, bias=False)  # W^Q of eq 13
        self.key = nn.Linear(dimension, dimension, bias=False)  # W^K of eq 13
        self.value = nn.Linear(dimension, dimension, bias=False)  # W^V of eq 13
        self.output = nn.Linear(dimension, dimension, bias=False)  # W^O of eq 17
        self.logit_query = nn.Linear(dimension, dimension, bias=False) if config.logit_query else None  # W^Q of eq 18
        self.logit_key = nn.Linear(dimension, dimension, bias=False)  # W^K of eq 18
        self.distance_weight: nn.Parameter | None = None  # of log-distances, in each head's scores and in the logits
        if config.distance_bias:
            # filled in place: where parameters are only declared, before loading, torch.cat would import a compiler
            self.distance_weight = nn.Parameter(torch.zeros(config.heads + 1))
            self.distance_weight.data[-1].fill_(_FIRST_WEIGHT)
        self.edge = nn.Linear(dimension + 1, dimension, bias=False) if config.edge_scores else None  # W^E
        # further states of eq 12, in the query and in the heads' outputs; and of moves, in each head and the logits
        self.states = nn.Linear(STATES, 2 * dimension, bias=False) if config.rules else None
        self.moves = nn.Linear(MOVES, config.heads + 1, bias=False) if config.rules else None

    def fold(self) -> Tensor:
        """Stack all matrices that multiply node embeddings: (5 d_h, d_h), or (6 d_h, d_h) with edge scores.

        With g the heads' outputs, eqs 17 to 19 say q^T k_j = (W^Q W^O g)^T W^K h_j = g^T (W^O^T W^Q^T W^K) h_j, and eqs
        12 and 13 say q = W_1 h̄ + W_2 h_last + w D. So all matrices can be applied to the nodes in advance. The same
        holds for W^E, with which g becomes g + W^E [h_last; D].

        Raises
        ------
        ModelError
            If a part does more than multiply by its matrix (a bias, a hook, its own forward), which folding would lose.
        """
        self._refuse_what_is_not_a_matrix()
        graph, last, _ = self._split_context_query()
        to_logits = self.output.weight.T
        if self.logit_query is not None:
            to_logits = to_logits @ self.logit_query.weight.T
        logit_key = self.config.logit_scale * (to_logits @ self.logit_key.weight)  # (d_h, d_h)
        key = self.config.attention_scale * self.key.weight
        edge = [] if self.edge is None else [self.edge.weight[:, :-1]]
        return torch.cat([key, self.value.weight, logit_key, graph, last, *edge])

    @property
    def capacity_weights(self) -> Tensor:
        """(1, d_h) w of eqs 12 and 13: weights of the remaining capacity in the query; (2, d_h) with those of W^E."""
        in_query = self._split_context_query()[2]
        return torch.stack([in_query] if self.edge is None else [in_query, self.edge.weight[:, -1]])

    def project(self, hidden: Tensor, packing: Packing, folded: Tensor) -> Projections:
        """Apply eqs 13, 17 and 18 to all nodes in one matrix product.

        Parameters
        ----------
        hidden
            (T, d_h) node embeddings.
        packing
            Their segments.
        folded
            The result of `fold`.
        """
        padded = packing.pad(hidden @ folded.T)  # (P, M, 5 d_h or 6 d_h)
        key, value, logit_key, graph, last, *edge = padded.chunk(
            padded.shape[-1] // self.config.dimension, -1
        )  # (P, M, d_h)
        return Projections(  # stored in the layout that every step reads
            key=self._split_heads(key).transpose(-1, -2).flatten(0, 1).contiguous(),
            value=self._split_heads(value).flatten(0, 1).contiguous(),
            logit_key=logit_key.contiguous(),
            graph=graph.contiguous(),
            last=last.contiguous(),
            capacity=self.capacity_weights,
            edge=edge[0].contiguous() if edge else None,
        )

    def logits(self, projections: Projections, context: Context, feasible: Tensor) -> Tensor:
        """Compute eqs 12 to 19: (P, S, M) logits of the next node, minus infinity if infeasible.

        This is the one plain statement of a step. Construction asks for one step per segment, replay for all steps of a
        route at once.
        """
        segments, steps, nodes = feasible.shape
        is_masked = ~feasible
        query = self._query(projections, context)  # (P, S, d_h), eqs 12 and 13
        by_rules = self._weigh(context.outlook, query.dtype)
        if by_rules is not None:
            query = query + by_rules.query
        scores = torch.bmm(self._split_heads(query).flatten(0, 1), projections.key)  # (P heads, S, M), eq 14
        scores = scores.view(segments, -1, steps, nodes)  # (P, heads, S, M)
        if projections.places is not None and self.distance_weight is not None:
            distances = log_distances(projections.places, context.previous)  # (P, S, M)
            scores = scores + self.distance_weight[:-1, None, None] * distances[:, None]
        if by_rules is not None:
            scores = scores + by_rules.scores
        scores = scores.masked_fill(is_masked[:, None], -torch.inf)
        weights = scores.softmax(-1).view(-1, steps, nodes)  # eq 15
        heads = torch.bmm(weights, projections.value)  # (P heads, S, d_k), eq 16
        glimpse = heads.view(segments, -1, steps, heads.shape[-1]).transpose(1, 2).reshape(segments, steps, -1)
        if projections.edge is not None:
            glimpse = glimpse + _take_rows(projections.edge, context.previous)
            glimpse = torch.addcmul(glimpse, context.fraction[..., None], projections.capacity[1])
        if by_rules is not None:
            glimpse = glimpse + by_rules.heads
        logits = torch.bmm(glimpse, projections.logit_key.transpose(1, 2))  # (P, S, M), eqs 17 and 18
        if projections.places is not None and self.distance_weight is not None:
            logits = logits + self.distance_weight[-1] * distances
        if by_rules is not None:
            logits = logits + by_rules.logits
        return (self.config.clip * logits.tanh()).masked_fill(is_masked, -torch.inf)  # eq 19

    def _weigh(self, outlook: Outlook | None, dtype: torch.dtype) -> _RuleTerms | None:
        """Weigh what vehicles see where there are rules beyond capacity."""
        if outlook is None or self.states is None or self.moves is None:
            return None
        query, heads = self.states(outlook.states.to(dtype)).chunk(2, -1)  # (P, S, d_h) each
        moves = self.moves(outlook.moves.to(dtype)).permute(0, 3, 1, 2)  # (P, heads + 1, S, M)
        return _RuleTerms(query, moves[:, :-1], heads, moves[:, -1])

    def _refuse_what_is_not_a_matrix(self) -> None:
        parts = [(f"decoder.{name}", part) for name, part in self.named_children()]
        for name, part in [("decoder", self), *parts]:
            is_hooked = part._forward_hooks or part._forward_pre_hooks
            is_matrix = part is self or (
                isinstance(part, nn.Linear) and type(part).forward is nn.Linear.forward and part.bias is None
            )
            if is_hooked or not is_matrix or "forward" in vars(part):
                raise ModelError.about(
                    name,
                    f"{name} ({type(part).__name__}) does more than multiply by a matrix, which folding would lose.",
                    "Override Decoder.fold, project or logits, or use torch.nn.utils.parametrize.",
                )

    def _query(self, projections: Projections, context: Context) -> Tensor:
        query = context.mean + _take_rows(projections.last, context.previous)
        return torch.addcmul(query, context.fraction[..., None], projections.capacity[0])  # (P, S, d_h)

    def _split_context_query(self) -> tuple[Tensor, Tensor, Tensor]:
        dimension = self.config.dimension
        weight = self.context_query.weight  # (d_h, 2 d_h + 1)
        return weight[:, :dimension], weight[:, dimension : 2 * dimension], weight[:, -1]

    def _split_heads(self, vectors: Tensor) -> Tensor:
        """(P, heads, S, d_k) from (P, S, d_h)."""
        return vectors.reshape(*vectors.shape[:2], self.config.heads, -1).transpose(1, 2)


def _take_rows(table: Tensor, slots: Tensor) -> Tensor:
    """(P, S, d_h): the rows of a (P, M, d_h) table in (P, S) slots."""
    segments, nodes, dimension = table.shape
    # rows of a flat table are faster than a gather, and their gradient is a sum of rows
    first = torch.arange(segments, device=slots.device)[:, None] * nodes  # (P, 1)
    return table.flatten(0, 1).index_select(0, (first + slots).flatten()).view(segments, -1, dimension)


def log_distances(places: Tensor, previous: Tensor) -> Tensor:
    """Compute (P, S, M) logarithms of the distances from the last visited node to all others.

    The unit is the typical spacing of the remaining nodes, so that distances mean the same in instances of all sizes.

    Parameters
    ----------
    places
        (P, M, 2) from `Projections`.
    previous
        (P, S) slots of the last visited nodes.
    """
    here = places.gather(1, previous[..., None].expand(-1, -1, 2))  # (P, S, 2)
    squared = (places[:, None] - here[:, :, None]).square().sum(-1)  # (P, S, M)
    return 0.5 * (squared + _AT_THE_SAME_PLACE).log()
