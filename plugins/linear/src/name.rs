//! The name that a new thing gets at Linear, made from the effect's.

/// The offset and prime of FNV-1a with 128 bits.
const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;

/// A UUID in the form of version 4, always the same for one effect: Linear takes it for the thing's own, refuses it a
/// second time, and finds the thing by it. An effect's name is a digest already; this only gives it another form.
#[must_use]
pub fn uuid(key: &str) -> String {
    let hash = key.bytes().fold(OFFSET, |hash, byte| (hash ^ u128::from(byte)).wrapping_mul(PRIME));
    let version = (hash & !(0xf << 76)) | (0x4 << 76);
    let variant = (version & !(0x3 << 62)) | (0x2 << 62);
    let hex = format!("{variant:032x}");
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    format!("{}-{}-{}-{}-{}", part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32))
}

#[cfg(test)]
mod tests {
    use super::uuid;

    #[test]
    fn a_name_is_a_uuid_of_version_4_and_the_effects_own() {
        let one = uuid("effect_1");
        assert_eq!(one, uuid("effect_1"));
        assert_ne!(one, uuid("effect_2"));
        assert_eq!(one.len(), 36);
        assert_eq!(one.as_bytes()[14], b'4');
        assert!(matches!(one.as_bytes()[19], b'8' | b'9' | b'a' | b'b'), "{one}");
        assert!(one.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit()));
    }
}
