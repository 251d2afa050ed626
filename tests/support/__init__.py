"""What several tests share: oracles, fakes, servers, a browser."""
