//! Compression of instructions: one zlib stream (RFC 1950) each.

use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::{deflate, inflate};

/// The longest instruction in bytes, compressed or not. It refuses decompression bombs.
pub const LIMIT: usize = 4 << 20;
/// zlib's default.
const LEVEL: u8 = 6;

/// Why bytes cannot be compressed or decompressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CompressionError {
    /// What is or would be decompressed exceeds the limit.
    #[error("an instruction has more than {LIMIT} bytes, the limit")]
    TooLong,
    /// It is not a complete zlib stream with a correct checksum.
    #[error("the instruction is not a valid zlib stream")]
    Invalid,
}

/// Compresses `bytes`.
///
/// # Errors
/// They, or the result, exceed [`LIMIT`].
pub fn compress(bytes: &[u8]) -> Result<Vec<u8>, CompressionError> {
    if bytes.len() > LIMIT {
        return Err(CompressionError::TooLong);
    }
    let compressed = deflate::compress_to_vec_zlib(bytes, LEVEL);
    if compressed.len() > LIMIT { Err(CompressionError::TooLong) } else { Ok(compressed) }
}

/// Decompresses `compressed`.
///
/// # Errors
/// It is invalid, or longer than [`LIMIT`] before or after.
pub fn decompress(compressed: &[u8]) -> Result<Vec<u8>, CompressionError> {
    if compressed.len() > LIMIT {
        return Err(CompressionError::TooLong);
    }
    inflate::decompress_to_vec_zlib_with_limit(compressed, LIMIT).map_err(|error| {
        match error.status {
            TINFLStatus::HasMoreOutput => CompressionError::TooLong,
            _ => CompressionError::Invalid,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_compressed_comes_back() {
        for bytes in [&b""[..], b"a", &[7; 100_000]] {
            let compressed = compress(bytes).expect("short enough");
            assert_eq!(decompress(&compressed).as_deref(), Ok(bytes));
        }
        assert!(compress(&[0; LIMIT]).is_ok());
        assert_eq!(compress(&[0; LIMIT + 1]), Err(CompressionError::TooLong));
    }

    #[test]
    fn a_decompression_bomb_is_refused() {
        let bomb = deflate::compress_to_vec_zlib(&vec![0; LIMIT + 1], LEVEL);
        assert!(bomb.len() < 10_000, "{}", bomb.len());
        assert_eq!(decompress(&bomb), Err(CompressionError::TooLong));
        assert_eq!(decompress(&vec![0; LIMIT + 1]), Err(CompressionError::TooLong));
    }

    #[test]
    fn what_is_no_stream_is_refused() {
        let stream = compress(b"hello hello hello").expect("short enough");
        let mut changed = stream.clone();
        *changed.last_mut().expect("not empty") ^= 1;
        for bytes in [&b""[..], b"x", &stream[..stream.len() - 1], &changed] {
            assert_eq!(decompress(bytes), Err(CompressionError::Invalid), "{bytes:?}");
        }
    }
}
