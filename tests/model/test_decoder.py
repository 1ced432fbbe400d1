from __future__ import annotations

from dataclasses import replace

import torch
from policies import SMALL_AMD, make_policy

from dynaroute.model.decoder import Context
from dynaroute.model.packing import Packing


def test_edge_scores_compare_each_node_with_the_last_one_and_the_load() -> None:
    """What W^E adds to a score, before it is clipped, is (W^Q W^O W^E [h_last; D])^T W^K h_j."""
    decoder = make_policy(replace(SMALL_AMD, edge_scores=True), gain=1.0).decoder.double()
    assert decoder.edge is not None
    assert decoder.logit_query is not None
    generator = torch.Generator().manual_seed(2)
    hidden = torch.rand(5, 16, generator=generator, dtype=torch.float64)
    context = Context(torch.zeros(1, 1, 16).double(), torch.tensor([[3]]), torch.tensor([[0.7]]).double())
    packing, feasible = Packing(torch.tensor([5]), 5), torch.ones(1, 1, 5, dtype=torch.bool)

    def find_scores() -> torch.Tensor:
        logits = decoder.logits(decoder.project(hidden, packing, decoder.fold()), context, feasible)
        return torch.atanh(logits[0, 0] / decoder.config.clip)

    with torch.no_grad():
        with_edges = find_scores()
        known = torch.cat([hidden[3], torch.tensor([0.7])])
        of_last = decoder.logit_query.weight @ decoder.output.weight @ decoder.edge.weight @ known
        decoder.edge.weight.zero_()
        torch.testing.assert_close(with_edges - find_scores(), hidden @ decoder.logit_key.weight.T @ of_last)
