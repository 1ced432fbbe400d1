"""The policy, equation by equation."""

from dynaroute.model.card import ModelCard
from dynaroute.model.config import PolicyConfig
from dynaroute.model.pointer import PointerConfig, PointerNetwork
from dynaroute.model.policy import Policy

__all__ = ["ModelCard", "PointerConfig", "PointerNetwork", "Policy", "PolicyConfig"]
