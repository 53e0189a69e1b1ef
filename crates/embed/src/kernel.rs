//! The product of a block: the innermost loop, once for each kind of machine, and how the right one is chosen.
//!
//! The only file with `unsafe` code. What can go wrong is one thing: an instruction that the machine does not have. So
//! the kinds are types that nobody else can make, and they are made after asking the machine.
#![expect(
    unsafe_code,
    reason = "vector instructions are reached in no other way; the plain loop takes nine to twenty times as long"
)]

use crate::layout::{BLOCK, DEPTH, WIDTH};

/// How many rows are multiplied at once: their sums and the weights fit into the registers.
pub(crate) const ROWS: usize = 6;

/// What one block contributes to [`ROWS`] rows.
pub(crate) type Sums = [[i32; WIDTH]; ROWS];

/// Multiplies blocks. All kinds give the same sums: those of integers, none of which can overflow.
pub(crate) trait Kernel: Copy {
    /// The products of each row's inputs with the weights of each output, added up.
    fn block(self, rows: [&[i16; DEPTH]; ROWS], weights: &[u8; BLOCK]) -> Sums;
}

/// Something to do that is compiled for each kind of machine, so that plain loops in it use its instructions, too.
/// What it calls must be inlined to that end.
pub(crate) trait Work {
    fn run<K: Kernel>(self, kernel: K);
}

/// What the machine that we run on can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Machine(Kind);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Machine {
    /// The best that there is.
    pub(crate) fn detect() -> Self {
        Self::all().last().copied().unwrap_or(Self(Kind::Plain))
    }

    /// Everything that this machine can run, the slowest first.
    pub(crate) fn all() -> Vec<Self> {
        let mut found = vec![Self(Kind::Plain)];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2") {
                found.push(Self(Kind::Avx2));
            }
            let has_vnni = is_x86_feature_detected!("avx512vnni") && is_x86_feature_detected!("avx512vl");
            if has_vnni && is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw") {
                found.push(Self(Kind::Avx512));
            }
        }
        found
    }

    pub(crate) fn run(self, work: impl Work) {
        match self.0 {
            Kind::Plain => work.run(Plain),
            // SAFETY: a `Machine` of this kind was made after AVX2 was detected.
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => unsafe { x86::run_avx2(work) },
            // SAFETY: a `Machine` of this kind was made after all four extensions were detected.
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => unsafe { x86::run_avx512(work) },
        }
    }
}

/// Any machine: a loop that compilers know how to widen.
#[derive(Clone, Copy)]
struct Plain;

impl Kernel for Plain {
    fn block(self, rows: [&[i16; DEPTH]; ROWS], weights: &[u8; BLOCK]) -> Sums {
        let mut sums = [[0; WIDTH]; ROWS];
        for (at, pairs) in weights.as_chunks::<{ 2 * WIDTH }>().0.iter().enumerate() {
            // Pulled apart once for all rows, so that what is multiplied lies side by side.
            let mut apart = [[0; WIDTH]; 2];
            for (output, &[first, second]) in pairs.as_chunks::<2>().0.iter().enumerate() {
                apart[0][output] = i16::from(first.cast_signed());
                apart[1][output] = i16::from(second.cast_signed());
            }
            for (sums, row) in sums.iter_mut().zip(rows) {
                let [first, second] = row.as_chunks::<2>().0[at].map(i32::from);
                for (output, sum) in sums.iter_mut().enumerate() {
                    *sum += i32::from(apart[0][output]) * first + i32::from(apart[1][output]) * second;
                }
            }
        }
        sums
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    //! The instructions of x86: AVX2, and AVX-512 with VNNI.
    #![expect(clippy::cast_ptr_alignment, reason = "these loads and stores are the ones for any address")]

    use super::{BLOCK, DEPTH, Kernel, ROWS, Sums, WIDTH, Work};
    use std::arch::x86_64::{
        __m128i, __m256i, __m512i, _mm_loadu_si128, _mm256_add_epi32, _mm256_cvtepi8_epi16,
        _mm256_loadu_si256, _mm256_madd_epi16, _mm256_set1_epi32, _mm256_setzero_si256, _mm256_storeu_si256,
        _mm512_cvtepi8_epi16, _mm512_dpwssd_epi32, _mm512_set1_epi32, _mm512_setzero_si512,
        _mm512_storeu_si512,
    };

    /// Proof that the machine has AVX2: made in [`run_avx2`] alone.
    #[derive(Clone, Copy)]
    pub(super) struct Avx2(());

    /// Proof that the machine has AVX-512 with VNNI: made in [`run_avx512`] alone.
    #[derive(Clone, Copy)]
    pub(super) struct Avx512(());

    #[target_feature(enable = "avx2")]
    pub(super) fn run_avx2(work: impl Work) {
        work.run(Avx2(()));
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
    pub(super) fn run_avx512(work: impl Work) {
        work.run(Avx512(()));
    }

    impl Kernel for Avx2 {
        #[inline]
        fn block(self, rows: [&[i16; DEPTH]; ROWS], weights: &[u8; BLOCK]) -> Sums {
            // SAFETY: an `Avx2` exists only where AVX2 was detected.
            unsafe { block_avx2(rows, weights) }
        }
    }

    impl Kernel for Avx512 {
        #[inline]
        fn block(self, rows: [&[i16; DEPTH]; ROWS], weights: &[u8; BLOCK]) -> Sums {
            // SAFETY: an `Avx512` exists only where all four extensions were detected.
            unsafe { block_avx512(rows, weights) }
        }
    }

    /// Two inputs beside each other, as one number to be spread over a register.
    #[inline]
    fn pair(row: &[i16; DEPTH], at: usize) -> i32 {
        let [first, second] = row.as_chunks::<2>().0[at].map(i16::to_le_bytes);
        i32::from_le_bytes([first[0], first[1], second[0], second[1]])
    }

    /// Sixteen outputs at a time: twelve sums, two registers of weights and one of inputs are all there is room for.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn block_avx2(rows: [&[i16; DEPTH]; ROWS], weights: &[u8; BLOCK]) -> Sums {
        let mut sums = [[0; WIDTH]; ROWS];
        let (weights, _) = weights.as_chunks::<16>();
        for quarter in 0..WIDTH / 16 {
            let mut wide = [[_mm256_setzero_si256(); 2]; ROWS];
            for at in 0..DEPTH / 2 {
                let weights = [0, 1].map(|part| widen_16(&weights[at * WIDTH / 8 + quarter * 2 + part]));
                for (sums, row) in wide.iter_mut().zip(rows) {
                    let inputs = _mm256_set1_epi32(pair(row, at));
                    for (sum, weights) in sums.iter_mut().zip(weights) {
                        *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(inputs, weights));
                    }
                }
            }
            for (sums, wide) in sums.iter_mut().zip(wide) {
                let (parts, _) = sums.as_chunks_mut::<8>();
                for (part, wide) in parts[quarter * 2..].iter_mut().zip(wide) {
                    // SAFETY: eight numbers of four bytes are the 32 that are written; they need no alignment.
                    unsafe { _mm256_storeu_si256(part.as_mut_ptr().cast::<__m256i>(), wide) };
                }
            }
        }
        sums
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
    fn block_avx512(rows: [&[i16; DEPTH]; ROWS], weights: &[u8; BLOCK]) -> Sums {
        let mut wide = [[_mm512_setzero_si512(); WIDTH / 16]; ROWS];
        let (weights, _) = weights.as_chunks::<32>();
        for at in 0..DEPTH / 2 {
            let weights = [0, 1, 2, 3].map(|part| widen_32(&weights[at * WIDTH / 16 + part]));
            for (sums, row) in wide.iter_mut().zip(rows) {
                let inputs = _mm512_set1_epi32(pair(row, at));
                for (sum, weights) in sums.iter_mut().zip(weights) {
                    *sum = _mm512_dpwssd_epi32(*sum, inputs, weights);
                }
            }
        }
        let mut sums = [[0; WIDTH]; ROWS];
        for (sums, wide) in sums.iter_mut().zip(wide) {
            for (part, wide) in sums.as_chunks_mut::<16>().0.iter_mut().zip(wide) {
                // SAFETY: sixteen numbers of four bytes are the 64 that are written; they need no alignment.
                unsafe { _mm512_storeu_si512(part.as_mut_ptr().cast::<__m512i>(), wide) };
            }
        }
        sums
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn widen_16(weights: &[u8; 16]) -> __m256i {
        // SAFETY: the sixteen bytes that are read are there; they need no alignment.
        _mm256_cvtepi8_epi16(unsafe { _mm_loadu_si128(weights.as_ptr().cast::<__m128i>()) })
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn widen_32(weights: &[u8; 32]) -> __m512i {
        // SAFETY: the 32 bytes that are read are there; they need no alignment.
        _mm512_cvtepi8_epi16(unsafe { _mm256_loadu_si256(weights.as_ptr().cast::<__m256i>()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::place;
    use proptest::prelude::*;

    struct OneBlock<'a> {
        rows: &'a [[i16; DEPTH]; ROWS],
        weights: &'a [u8; BLOCK],
        sums: &'a mut Sums,
    }

    impl Work for OneBlock<'_> {
        fn run<K: Kernel>(self, kernel: K) {
            *self.sums = kernel.block(self.rows.each_ref(), self.weights);
        }
    }

    /// The sums as they are defined, one by one.
    fn defined(rows: &[[i16; DEPTH]; ROWS], weights: &[u8; BLOCK]) -> Sums {
        rows.map(|row| {
            std::array::from_fn(|output| {
                let weight = |input| i32::from(weights[place(output, input)].cast_signed());
                row.iter().enumerate().map(|(input, &value)| i32::from(value) * weight(input)).sum()
            })
        })
    }

    #[track_caller]
    fn check(rows: &[[i16; DEPTH]; ROWS], weights: &[u8; BLOCK]) {
        let expected = defined(rows, weights);
        for machine in Machine::all() {
            let mut sums = [[0; WIDTH]; ROWS];
            machine.run(OneBlock { rows, weights, sums: &mut sums });
            assert_eq!(sums, expected, "{machine:?}");
        }
    }

    #[test]
    fn the_largest_numbers_do_not_overflow() {
        for (input, weight) in [(i16::MIN, 0x80), (i16::MAX, 0x7f), (i16::MAX, 0x80), (i16::MIN, 0x7f)] {
            check(&[[input; DEPTH]; ROWS], &[weight; BLOCK]);
        }
    }

    proptest! {
        #[test]
        fn every_kind_of_machine_gives_the_same_sums(
            inputs in prop::collection::vec(any::<i16>(), ROWS * DEPTH),
            weights in prop::collection::vec(any::<u8>(), BLOCK),
        ) {
            let rows: Vec<[i16; DEPTH]> = inputs.as_chunks::<DEPTH>().0.to_vec();
            check(&rows.try_into().unwrap(), &weights.try_into().unwrap());
        }
    }
}
