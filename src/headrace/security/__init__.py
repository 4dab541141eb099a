"""Who somebody is and what they may do: access rules, SASL conversations, TLS.

Nothing here touches a socket or reads a clock. Only ``tls_context`` reads files, when it is told
to; only ``token_validation`` and ``tls_certificates`` need third-party cryptography.
"""
