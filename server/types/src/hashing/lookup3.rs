//! Bob Jenkins' lookup3 with a seed of 64 bits, as PostgreSQL computes it.

/// What the state starts with in PostgreSQL, besides the length.
const START: u32 = 0x9e37_79b9_u32.wrapping_add(3_923_095);

struct State {
    a: u32,
    b: u32,
    c: u32,
}

impl State {
    /// The state before any byte of a value of that length.
    fn of_length(bytes: usize, seed: u64) -> Self {
        let start = START.wrapping_add(bytes as u32);
        let mut state = State { a: start, b: start, c: start };
        if seed != 0 {
            state.a = state.a.wrapping_add((seed >> 32) as u32);
            state.b = state.b.wrapping_add(seed as u32);
            state.mix();
        }
        state
    }

    fn mix(&mut self) {
        let State { a, b, c } = self;
        for (shift, turn) in [(4, 0), (6, 1), (8, 2), (16, 0), (19, 1), (4, 2)] {
            let (first, second, third) = match turn {
                0 => (&mut *a, &mut *b, &mut *c),
                1 => (&mut *b, &mut *c, &mut *a),
                _ => (&mut *c, &mut *a, &mut *b),
            };
            *first = first.wrapping_sub(*third) ^ third.rotate_left(shift);
            *third = third.wrapping_add(*second);
        }
    }

    fn end(mut self) -> u64 {
        let State { a, b, c } = &mut self;
        for (shift, turn) in [(14, 2), (11, 0), (25, 1), (16, 2), (4, 0), (14, 1), (24, 2)] {
            let (target, other) = match turn {
                0 => (&mut *a, *c),
                1 => (&mut *b, *a),
                _ => (&mut *c, *b),
            };
            *target = (*target ^ other).wrapping_sub(other.rotate_left(shift));
        }
        u64::from(self.b) << 32 | u64::from(self.c)
    }
}

/// The hash of a word.
pub(super) fn of_word(word: u32, seed: u64) -> u64 {
    let mut state = State::of_length(4, seed);
    state.a = state.a.wrapping_add(word);
    state.end()
}

/// The hash of bytes.
pub(super) fn of_bytes(bytes: &[u8], seed: u64) -> u64 {
    let mut state = State::of_length(bytes.len(), seed);
    let chunks = bytes.chunks_exact(12);
    let rest = chunks.remainder();
    for chunk in chunks {
        add(&mut state, chunk, false);
        state.mix();
    }
    add(&mut state, rest, true);
    state.end()
}

/// Adds up to twelve bytes. The lowest byte of the last word of an incomplete block stands for the
/// length.
fn add(state: &mut State, bytes: &[u8], is_last: bool) {
    for (place, byte) in bytes.iter().enumerate() {
        let (word, shift) = match place {
            0..4 => (&mut state.a, place),
            4..8 => (&mut state.b, place - 4),
            _ => (&mut state.c, place - 8 + usize::from(is_last)),
        };
        *word = word.wrapping_add(u32::from(*byte) << (8 * shift));
    }
}
