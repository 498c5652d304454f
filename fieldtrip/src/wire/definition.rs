use super::ByteOrder;

/// The first eight bytes of a message: what it is and how many bytes follow (spec: fieldtrip §2).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Definition {
    /// Command or reply code.
    pub code: u16,
    /// Byte order of this message, recognised from its version field.
    pub order: ByteOrder,
    /// Number of bytes that follow.
    pub payload_bytes: u32,
}

/// The peer speaks another version or another protocol: close the connection, without a reply.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct BadVersion;

impl Definition {
    /// Parses a definition.
    ///
    /// - Errors: [`BadVersion`], after which nothing on this connection can be understood.
    pub fn parse(bytes: [u8; DEFINITION_BYTES]) -> Result<Self, BadVersion> {
        let [v0, v1, c0, c1, n0, n1, n2, n3] = bytes;
        let order = [ByteOrder::Little, ByteOrder::Big]
            .into_iter()
            .find(|order| order.u16([v0, v1]) == VERSION)
            .ok_or(BadVersion)?;
        Ok(Self { code: order.u16([c0, c1]), order, payload_bytes: order.u32([n0, n1, n2, n3]) })
    }

    /// The eight bytes of this definition.
    pub fn encode(self) -> [u8; DEFINITION_BYTES] {
        let [v0, v1] = self.order.put_u16(VERSION);
        let [c0, c1] = self.order.put_u16(self.code);
        let [n0, n1, n2, n3] = self.order.put_u32(self.payload_bytes);
        [v0, v1, c0, c1, n0, n1, n2, n3]
    }
}

/// Length of the definition that begins every request and every reply.
pub const DEFINITION_BYTES: usize = 8;

/// The protocol's only version.
const VERSION: u16 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_recognised_from_the_version() {
        let little = Definition { code: 0x0201, order: ByteOrder::Little, payload_bytes: 7 };
        assert_eq!(little.encode(), [1, 0, 1, 2, 7, 0, 0, 0]);
        assert_eq!(Definition::parse([1, 0, 1, 2, 7, 0, 0, 0]), Ok(little));
        let big = Definition { order: ByteOrder::Big, ..little };
        assert_eq!(Definition::parse([0, 1, 2, 1, 0, 0, 0, 7]), Ok(big));
        assert_eq!(Definition::parse(big.encode()), Ok(big));
    }

    #[test]
    fn another_version_is_refused() {
        for version in [[0, 0], [2, 0], [1, 1], [0, 2]] {
            let [v0, v1] = version;
            assert_eq!(Definition::parse([v0, v1, 1, 2, 0, 0, 0, 0]), Err(BadVersion));
        }
    }
}
