"""Products: an HLO dot with what is fused around it (`product`), and how it is computed (`kernel`)."""
