"""Importing the published weights of the attention model (Kool et al. 2019)."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor

from dynaroute.base.errors import FileError, FormatError, ModelError, in_file
from dynaroute.base.torch_files import load_torch_file
from dynaroute.model.config import PolicyConfig
from dynaroute.model.policy import Policy
from dynaroute.model.saved import ModelCard, fill_parameters


def import_kool(path: str | Path) -> Policy:
    """Read a published AM checkpoint for the CVRP.

    This is the only place that opens a pickle of weights. It uses PyTorch's restricted reader, which builds only
    tensors and plain containers and runs no code.

    Parameters
    ----------
    path
        A file of the form `{"model": state_dict}`.

    Returns
    -------
    Policy
        The same model, in evaluation mode.
    """
    with in_file(path):
        published = _load(Path(path))
        config = PolicyConfig.am()
        try:
            translated = _translate(published, config)
        except KeyError as error:
            raise _fault(f"there is no tensor {error.args[0]!r}.") from error
        except (IndexError, RuntimeError, ValueError) as error:  # raised by PyTorch if shapes do not match
            raise _fault("its tensors have the wrong shapes.") from error
        policy = Policy(config, card=ModelCard(name=Path(path).stem, recipe="published AM weights (Kool et al. 2019)"))
        # only the count of batches is missing in theirs
        fill_parameters(policy, {**policy.state_dict(), **translated})
    return policy.eval()


def _load(path: Path) -> dict[str, Tensor]:
    try:
        contents = load_torch_file(path, "cpu")
    except (FileError, FormatError) as error:
        raise ModelError(error.message, remedy="Give a published AM checkpoint.") from error
    model = contents.get("model") if isinstance(contents, dict) else None
    if not isinstance(model, dict) or not all(isinstance(tensor, Tensor) for tensor in model.values()):
        raise ModelError("it has no weights under 'model'.", remedy="Give a published AM checkpoint.")
    return model


def _translate(published: dict[str, Tensor], config: PolicyConfig) -> dict[str, Tensor]:
    """Rename and restack tensors: published heads are separate (heads, in, out) blocks, ours are stacked rows."""
    key, value, logit_key = published["project_node_embeddings.weight"].chunk(3)
    ours = {
        "encoder.embed_customer.weight": published["init_embed.weight"],
        "encoder.embed_customer.bias": published["init_embed.bias"],
        "encoder.embed_depot.weight": published["init_embed_depot.weight"],
        "encoder.embed_depot.bias": published["init_embed_depot.bias"],
        "decoder.context_query.weight": torch.cat(
            [published["project_fixed_context.weight"], published["project_step_context.weight"]], dim=1
        ),
        "decoder.key.weight": key,
        "decoder.value.weight": value,
        "decoder.logit_key.weight": logit_key,
        "decoder.output.weight": published["project_out.weight"],
    }
    for layer in range(config.layers):
        theirs, mine = f"embedder.layers.{layer}", f"encoder.layers.{layer}"
        heads = [published[f"{theirs}.0.module.W_{name}"] for name in ("query", "key", "val")]  # (heads, d_h, d_k) each
        ours[f"{mine}.query_key_value.weight"] = torch.cat([head.transpose(1, 2).flatten(0, 1) for head in heads])
        ours[f"{mine}.output.weight"] = published[f"{theirs}.0.module.W_out"].flatten(0, 1).transpose(0, 1)
        for index, name in ((0, "feed_forward_in"), (2, "feed_forward_out")):
            for part in ("weight", "bias"):
                ours[f"{mine}.{name}.{part}"] = published[f"{theirs}.2.module.{index}.{part}"]
        for index, name in ((1, "after_attention"), (3, "after_feed_forward")):
            for part in ("weight", "bias", "running_mean", "running_var"):
                ours[f"{mine}.{name}.{part}"] = published[f"{theirs}.{index}.normalizer.{part}"]
    return ours


def _fault(message: str) -> ModelError:
    remedy = "Give weights of the published attention model for the CVRP."
    return ModelError.about("model", message, remedy)
