//! The product of a row and a probe: the innermost loop, once for each kind of machine, and how the right one is chosen.

use wide::{i16x8, i32x4};

/// So many numbers are multiplied at a time.
pub(super) const LANES: usize = 16;

/// Multiplies rows. All kinds give the same sums: those of integers, none of which can overflow.
pub(super) trait Kernel: Copy {
    /// The products of the numbers of both, added up.
    fn product(self, row: &[[i8; LANES]], probe: &[[i16; LANES]]) -> i32;
}

/// Something to do that is compiled for each kind of machine. What it calls must be inlined to that end.
pub(super) trait Work {
    fn run<K: Kernel>(self, kernel: K);
}

/// Does it in the fastest way that this machine has.
pub(super) fn run(work: impl Work) {
    #[cfg(target_arch = "x86_64")]
    if let Some(kernel) = x86::Avx2::detect() {
        kernel.run(work);
        return;
    }
    work.run(Plain);
}

/// Any machine.
#[derive(Clone, Copy)]
struct Plain;

impl Kernel for Plain {
    #[inline]
    fn product(self, row: &[[i8; LANES]], probe: &[[i16; LANES]]) -> i32 {
        let mut sum = i32x4::ZERO;
        for (row, probe) in row.iter().zip(probe) {
            let (row, probe) = (row.map(i16::from), probe.as_chunks::<8>().0);
            for (row, probe) in row.as_chunks::<8>().0.iter().zip(probe) {
                sum += i16x8::new(*row).dot(i16x8::new(*probe));
            }
        }
        sum.reduce_add()
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    //! The instructions of AVX2. What can go wrong is one thing: that the machine does not have them. So the kind is a type
    //! that nobody else can make, and it is made after asking the machine.
    #![expect(
        unsafe_code,
        reason = "these instructions are reached in no other way; without them a scan takes thrice as long"
    )]
    #![expect(clippy::cast_ptr_alignment, reason = "these loads are the ones for any address")]

    use super::{Kernel, LANES, Work};
    use std::arch::x86_64::{
        __m128i, __m256i, _mm_add_epi32, _mm_cvtsi128_si32, _mm_loadu_si128, _mm_shuffle_epi32,
        _mm256_add_epi32, _mm256_castsi256_si128, _mm256_cvtepi8_epi16, _mm256_extracti128_si256,
        _mm256_loadu_si256, _mm256_madd_epi16, _mm256_setzero_si256,
    };

    /// Proof that the machine has AVX2: made in [`Avx2::detect`] alone.
    #[derive(Clone, Copy)]
    pub(super) struct Avx2(());

    impl Avx2 {
        pub(super) fn detect() -> Option<Self> {
            is_x86_feature_detected!("avx2").then_some(Self(()))
        }

        pub(super) fn run(self, work: impl Work) {
            // SAFETY: an `Avx2` exists only where AVX2 was detected.
            unsafe { run_avx2(self, work) }
        }
    }

    #[target_feature(enable = "avx2")]
    fn run_avx2(kernel: Avx2, work: impl Work) {
        work.run(kernel);
    }

    impl Kernel for Avx2 {
        #[inline]
        fn product(self, row: &[[i8; LANES]], probe: &[[i16; LANES]]) -> i32 {
            // SAFETY: an `Avx2` exists only where AVX2 was detected.
            unsafe { product_avx2(row, probe) }
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn product_avx2(row: &[[i8; LANES]], probe: &[[i16; LANES]]) -> i32 {
        let mut sum = _mm256_setzero_si256();
        for (row, probe) in row.iter().zip(probe) {
            // SAFETY: the sixteen bytes that are read are there; they need no alignment.
            let row = _mm256_cvtepi8_epi16(unsafe { _mm_loadu_si128(row.as_ptr().cast::<__m128i>()) });
            // SAFETY: sixteen numbers of two bytes are the 32 that are read; they need no alignment.
            let probe = unsafe { _mm256_loadu_si256(probe.as_ptr().cast::<__m256i>()) };
            sum = _mm256_add_epi32(sum, _mm256_madd_epi16(row, probe));
        }
        let sum = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256::<1>(sum));
        let sum = _mm_add_epi32(sum, _mm_shuffle_epi32::<0b01_00_11_10>(sum));
        let sum = _mm_add_epi32(sum, _mm_shuffle_epi32::<0b10_11_00_01>(sum));
        _mm_cvtsi128_si32(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    struct One<'a> {
        row: &'a [[i8; LANES]],
        probe: &'a [[i16; LANES]],
        sum: &'a mut i32,
    }

    impl Work for One<'_> {
        fn run<K: Kernel>(self, kernel: K) {
            *self.sum = kernel.product(self.row, self.probe);
        }
    }

    /// Both ways give the sum as it is defined. Where the machine has no better one, they are the same way.
    #[track_caller]
    fn check(row: &[[i8; LANES]], probe: &[[i16; LANES]]) {
        let products = row.as_flattened().iter().zip(probe.as_flattened());
        let defined: i32 = products.map(|(a, b)| i32::from(*a) * i32::from(*b)).sum();
        assert_eq!(Plain.product(row, probe), defined);
        let mut best = 0;
        run(One { row, probe, sum: &mut best });
        assert_eq!(best, defined);
    }

    #[test]
    fn the_largest_numbers_of_the_longest_vectors_do_not_overflow() {
        for (row, probe) in [(127, 508), (-127, 508), (127, -508), (-127, -508)] {
            check(&[[row; LANES]; 8192 / LANES], &[[probe; LANES]; 8192 / LANES]);
        }
    }

    proptest! {
        #[test]
        fn every_kind_of_machine_gives_the_same_sum(
            numbers in prop::collection::vec((-127_i8..=127, -508_i16..=508), 0..40 * LANES),
        ) {
            let (row, probe): (Vec<i8>, Vec<i16>) = numbers.into_iter().unzip();
            check(row.as_chunks().0, probe.as_chunks().0);
        }
    }
}
