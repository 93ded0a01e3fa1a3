"""Webhooks: reports of finished jobs and their retries."""
