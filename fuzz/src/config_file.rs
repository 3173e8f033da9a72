//! `config.cfg`.

use imex_config::ServiceFile;

/// A service file is refused, or it is kept byte for byte, and a key that is set in it reads as it was set and changes
/// nothing else.
pub fn config_file(bytes: &[u8]) {
    let Ok(mut file) = ServiceFile::parse(bytes) else {
        return;
    };
    assert_eq!(file.to_string().as_bytes(), bytes, "an unchanged file is written as it was read");
    for assignment in file.assignments() {
        assert!(file.get(assignment.key).is_some(), "what is assigned can be asked for");
    }
    if file.set("SERVER_PORT", "50001").is_ok() {
        assert_eq!(file.get("SERVER_PORT").map(|assignment| assignment.value), Some("50001"));
        let written = file.to_string();
        let again = ServiceFile::parse(written.as_bytes()).expect("a file with a key set is a file");
        assert_eq!(again.to_string(), written);
    }
}
