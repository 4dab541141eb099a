"""The Kafka front door: frames, requests, answers."""
