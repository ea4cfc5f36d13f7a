//! Enums in JSON: `"running"`, not the number that protobuf has for it.

macro_rules! named {
    ($module:ident, $of:ty, $prefix:literal) => {
        pub(crate) mod $module {
            use serde::{Deserialize, Deserializer, Serializer, de::Error};

            #[allow(
                clippy::trivially_copy_pass_by_ref,
                reason = "serde hands the field over by reference"
            )]
            pub(crate) fn serialize<S: Serializer>(value: &i32, to: S) -> Result<S::Ok, S::Error> {
                let name = <$of>::try_from(*value).unwrap_or_default().as_str_name();
                let name = name.strip_prefix($prefix).unwrap_or(name);
                to.serialize_str(&name.to_ascii_lowercase())
            }

            pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<i32, D::Error> {
                let name = String::deserialize(from)?;
                <$of>::from_str_name(&format!("{}{}", $prefix, name.to_ascii_uppercase()))
                    .map(i32::from)
                    .ok_or_else(|| D::Error::custom(format!("no state {name:?}")))
            }
        }
    };
}

named!(crawl_state, crate::proto::v1::CrawlState, "CRAWL_STATE_");
named!(url_state, crate::proto::v1::UrlState, "URL_STATE_");

#[cfg(test)]
mod tests {
    use crate::proto::v1;

    #[test]
    fn states_have_names_in_json_and_are_read_back() {
        let crawl = v1::Crawl {
            state: v1::CrawlState::Paused as i32,
            ..Default::default()
        };
        let json = serde_json::to_value(&crawl).unwrap();
        assert_eq!(json["state"], "paused");
        assert_eq!(serde_json::from_value::<v1::Crawl>(json).unwrap(), crawl);
        let report = v1::UrlReport {
            state: v1::UrlState::Refused as i32,
            ..Default::default()
        };
        assert_eq!(serde_json::to_value(&report).unwrap()["state"], "refused");
    }
}
