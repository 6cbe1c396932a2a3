"""Registers the environments with Gymnasium, which calls this when it is imported."""

from __future__ import annotations


def register() -> None:
    """Registers them once."""
    # While Gymnasium is being imported, nothing else of it is there.
    from gymnasium.envs.registration import register, registry

    if "tcpexmachina/Flow-v0" not in registry:
        register(
            "tcpexmachina/Flow-v0",
            entry_point="tcpexmachina.gym:FlowEnv",
            vector_entry_point="tcpexmachina.gym:FlowVectorEnv",
        )
