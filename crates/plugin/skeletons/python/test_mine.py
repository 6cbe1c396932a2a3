"""Tests of mine.py."""

import unittest
from types import SimpleNamespace

from mine import Mine


class Test(unittest.TestCase):
    def test_a_loss_halves_the_window_once_a_round_trip(self):
        mine = Mine()
        self.assertEqual(mine.on_start(SimpleNamespace(initial_window=10)), 10)
        self.assertEqual(mine.on_ack(SimpleNamespace(stale=False, recovering=False, acked=1)), 11)
        lost = SimpleNamespace(kind="lost", sent_at=0, now=100_000_000)
        self.assertEqual(mine.on_congestion(lost), 5.5)
        self.assertEqual(mine.on_congestion(lost), 5.5)


if __name__ == "__main__":
    unittest.main()
