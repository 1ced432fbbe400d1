"""The policy, equation by equation.

Begin with `policy`, and follow it into `encoder` and `decoder`; `config` says what can be set. It may import `base`,
`batch`, `kernels` and `weights`.
"""

from dynaroute.model.config import PolicyConfig
from dynaroute.model.pointer import PointerConfig, PointerNetwork
from dynaroute.model.policy import Policy
from dynaroute.model.saved import ModelCard

__all__ = ["ModelCard", "PointerConfig", "PointerNetwork", "Policy", "PolicyConfig"]
