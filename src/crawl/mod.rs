//! What happens to one link? Engine, budget, state, spec; makes the bookings.
