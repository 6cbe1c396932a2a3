//! AES-128-OCB3 (RFC 7253) with the nonces of the datagrams.

use crate::key::Key;
use ocb3::aead::{AeadInOut, KeyInit};
use ocb3::consts::{U12, U16};
use ocb3::{Ocb3, Tag};

/// The size of the tag in bytes: AEAD_AES_128_OCB_TAGLEN128.
pub(crate) const TAG: usize = 16;

/// Tables for texts of up to 2^12 blocks, 64 KiB, which no UDP datagram exceeds.
const TABLE: usize = 12;

type Aes128Ocb = Ocb3<aes::Aes128, U12, U16, TABLE>;

/// The cipher with one key.
pub(crate) struct Cipher(Aes128Ocb);

impl Cipher {
    pub(crate) fn new(key: &Key) -> Cipher {
        Cipher(Aes128Ocb::new(key.bytes().into()))
    }

    /// Encrypts `text` in place, and returns its tag; `None` if it is 64 KiB or longer.
    pub(crate) fn seal(&self, nonce: u64, text: &mut [u8]) -> Option<[u8; TAG]> {
        let tag = self.0.encrypt_inout_detached(&widened(nonce).into(), &[], text.into()).ok()?;
        Some(tag.into())
    }

    /// Decrypts `text` in place. If the tag is wrong, returns false and zeroes `text`, as unauthenticated
    /// plaintext must not be used.
    #[must_use]
    pub(crate) fn open(&self, nonce: u64, text: &mut [u8], tag: [u8; TAG]) -> bool {
        let nonce = widened(nonce).into();
        let tag = Tag::<U16>::from(tag);
        let authentic = self.0.decrypt_inout_detached(&nonce, &[], (&mut *text).into(), &tag);
        if authentic.is_err() {
            text.fill(0);
        }
        authentic.is_ok()
    }
}

/// The 12-byte nonce of OCB: four zeros and the eight bytes of the datagram.
fn widened(nonce: u64) -> [u8; 12] {
    let mut bytes = [0; 12];
    bytes[4..].copy_from_slice(&nonce.to_be_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unhex(text: &str) -> Vec<u8> {
        let digit = |byte: u8| (byte as char).to_digit(16).expect("a digit") as u8;
        text.as_bytes().chunks(2).map(|two| digit(two[0]) << 4 | digit(two[1])).collect()
    }

    /// `text` sealed under `nonce` with `data` beside it, and the tag behind.
    fn sealed(ocb: &Aes128Ocb, nonce: [u8; 12], data: &[u8], text: &[u8]) -> Vec<u8> {
        let mut sealed = text.to_vec();
        let tag = ocb
            .encrypt_inout_detached(&nonce.into(), data, sealed.as_mut_slice().into())
            .expect("short enough");
        sealed.extend_from_slice(&tag);
        sealed
    }

    /// Appendix A: the length of the associated data, that of the plaintext, and the ciphertext;
    /// the texts are 00 01 02 ... and the nonces end with the number of the line.
    const SAMPLES: [(usize, usize, &str); 16] = [
        (0, 0, "785407BFFFC8AD9EDCC5520AC9111EE6"),
        (8, 8, "6820B3657B6F615A5725BDA0D3B4EB3A257C9AF1F8F03009"),
        (8, 0, "81017F8203F081277152FADE694A0A00"),
        (0, 8, "45DD69F8F5AAE72414054CD1F35D82760B2CD00D2F99BFA9"),
        (16, 16, "571D535B60B277188BE5147170A9A22C3AD7A4FF3835B8C5701C1CCEC8FC3358"),
        (16, 0, "8CF761B6902EF764462AD86498CA6B97"),
        (0, 16, "5CE88EC2E0692706A915C00AEB8B2396F40E1C743F52436BDF06D8FA1ECA343D"),
        (
            24,
            24,
            "1CA2207308C87C010756104D8840CE1952F09673A448A122C92C62241051F57356D7F3C90BB0E07F",
        ),
        (24, 0, "6DC225A071FC1B9F7C69F93B0F1E10DE"),
        (0, 24, "221BD0DE7FA6FE993ECCD769460A0AF2D6CDED0C395B1C3CE725F32494B9F914D85C0B1EB38357FF"),
        (
            32,
            32,
            "BD6F6C496201C69296C11EFD138A467ABD3C707924B964DEAFFC40319AF5A48540FBBA186C5553C6\
             8AD9F592A79A4240",
        ),
        (32, 0, "FE80690BEE8A485D11F32965BC9D2A32"),
        (
            0,
            32,
            "2942BFC773BDA23CABC6ACFD9BFD5835BD300F0973792EF46040C53F1432BCDFB5E1DDE3BC18A5F8\
             40B52E653444D5DF",
        ),
        (
            40,
            40,
            "D5CA91748410C1751FF8A2F618255B68A0A12E093FF454606E59F9C1D0DDC54B65E8628E568BAD7A\
             ED07BA06A4A69483A7035490C5769E60",
        ),
        (40, 0, "C5CD9D1850C141E358649994EE701B68"),
        (
            0,
            40,
            "4412923493C57D5DE0D700F753CCE0D1D2D95060122E9F15A5DDBFC5787E50B5CC55EE507BCB084E\
             479AD363AC366B95A98CA5F3000B1479",
        ),
    ];

    #[test]
    fn samples_of_rfc_7253_appendix_a() {
        let counted: Vec<u8> = (0..40).collect();
        let ocb = Aes128Ocb::new(counted[..16].try_into().expect("16 bytes"));
        for (index, (data, text, expected)) in SAMPLES.into_iter().enumerate() {
            let mut nonce: [u8; 12] = *b"\xbb\xaa\x99\x88\x77\x66\x55\x44\x33\x22\x11\0";
            nonce[11] = index as u8;
            let result = sealed(&ocb, nonce, &counted[..data], &counted[..text]);
            assert_eq!(result, unhex(expected), "sample {index}");
        }
    }

    /// Appendix A: 384 texts and associated data of all lengths below 128, under nonces that begin
    /// with zeros as ours do.
    #[test]
    fn iterated_test_of_rfc_7253_appendix_a() {
        let mut key = [0; 16];
        key[15] = 128;
        let ocb = Aes128Ocb::new(&key.into());
        let mut all = Vec::new();
        for i in 0..128 {
            let zeros = vec![0; i];
            let nonce = |which| widened(3 * i as u64 + which);
            all.extend(sealed(&ocb, nonce(1), &zeros, &zeros));
            all.extend(sealed(&ocb, nonce(2), &[], &zeros));
            all.extend(sealed(&ocb, nonce(3), &zeros, &[]));
        }
        let output = sealed(&ocb, widened(385), &all, &[]);
        assert_eq!(output, unhex("67E944D23256C5E0B6C61FA22FDF1EA2"));
    }

    #[test]
    fn unauthentic_plaintext_is_zeroed() {
        let cipher = Cipher::new(&Key::from_bytes([7; 16]));
        let mut text = *b"some text of more than one block";
        let tag = cipher.seal(1, &mut text).expect("short enough");
        let mut forged = text;
        forged[20] ^= 1;
        assert!(!cipher.open(1, &mut forged, tag));
        assert_eq!(forged, [0; 32]);
        assert!(!cipher.open(2, &mut text.clone(), tag));
        assert!(cipher.open(1, &mut text, tag));
        assert_eq!(&text, b"some text of more than one block");
        assert!(cipher.seal(1, &mut vec![0; 1 << 16]).is_none());
    }
}
