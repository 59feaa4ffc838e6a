"""What a lab keeps on disk: layout, certificates, locks, logs, bundles."""
