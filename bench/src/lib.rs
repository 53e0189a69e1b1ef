//! Measures Portolan beside the direct path and a byte-forwarding hop.
