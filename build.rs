//! Compiles `proto/apprentice/v1/*.proto` with protox (no `protoc` needed) and keeps the descriptor
//! set for gRPC reflection.

use std::path::{Path, PathBuf};

use prost::Message;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = Path::new("proto");
    let mut files: Vec<PathBuf> = std::fs::read_dir(root.join("apprentice/v1"))?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    files.retain(|path| path.extension().is_some_and(|ext| ext == "proto"));
    files.sort();
    println!("cargo:rerun-if-changed=proto");

    let descriptors = protox::compile(&files, [root])?;
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    std::fs::write(
        out.join("apprentice.v1.descriptors.bin"),
        descriptors.encode_to_vec(),
    )?;
    let serde =
        "#[derive(serde::Serialize, serde::Deserialize)] #[serde(default, deny_unknown_fields)]";
    tonic_prost_build::configure()
        // The messages of the API are also the TOML spec and the JSON output.
        .message_attribute(".apprentice.v1", serde)
        .enum_attribute(
            ".apprentice.v1",
            "#[derive(serde::Serialize, serde::Deserialize)]",
        )
        .field_attribute(
            ".apprentice.v1.Crawl.state",
            "#[serde(with = \"crate::proto::names::crawl_state\")]",
        )
        .field_attribute(
            ".apprentice.v1.UrlReport.state",
            "#[serde(with = \"crate::proto::names::url_state\")]",
        )
        .compile_fds(descriptors)?;
    Ok(())
}
