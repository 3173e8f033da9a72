use super::*;

#[test]
fn the_command_line_goes_before_the_environment_and_that_before_the_profile() {
    let home = home("[default]\nregion = us-west-1\n[profile rack]\nregion = us-west-2\n", "");
    let region = |variables: &[(&str, &str)], region: Option<&str>, profile: Option<&str>| {
        let overrides = Overrides { region: owned(region), profile: owned(profile), endpoint: None };
        Settings::read(&environment(&home, variables), &overrides).unwrap().region.unwrap().to_string()
    };
    assert_eq!(region(&[], None, None), "us-west-1");
    assert_eq!(region(&[("AWS_PROFILE", "rack")], None, None), "us-west-2");
    assert_eq!(region(&[("AWS_PROFILE", "rack")], None, Some("default")), "us-west-1");
    assert_eq!(region(&[("AWS_DEFAULT_REGION", "eu-west-1")], None, None), "eu-west-1");
    assert_eq!(region(&[("AWS_REGION", "eu-west-2"), ("AWS_DEFAULT_REGION", "x")], None, None), "eu-west-2");
    assert_eq!(region(&[("AWS_REGION", "eu-west-2")], Some("eu-west-3"), None), "eu-west-3");
}

#[test]
fn an_endpoint_is_the_services_own_before_that_of_all() {
    let home = home("[default]\nendpoint_url = http://127.0.0.1:1\n", "");
    let endpoints = |variables: &[(&str, &str)], flag: Option<&str>| {
        let overrides = Overrides { endpoint: owned(flag), ..Overrides::default() };
        let settings = Settings::read(&environment(&home, variables), &overrides).unwrap();
        settings.endpoints.map(|endpoint| endpoint.map(|endpoint| endpoint.host_and_port().1))
    };
    let variables =
        [("AWS_ENDPOINT_URL", "http://127.0.0.1:2"), ("AWS_ENDPOINT_URL_PCS", "http://127.0.0.1:3")];
    assert_eq!(endpoints(&[], None), [Some(1), Some(1)]);
    assert_eq!(endpoints(&variables, None), [Some(2), Some(3)]);
    assert_eq!(endpoints(&variables, Some("http://127.0.0.1:4")), [Some(4), Some(4)]);
    assert_eq!(endpoints(&[("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true")], None), [None, None]);
}

#[test]
fn credentials_come_from_the_first_place_that_has_any() {
    let home = home(
        "[profile role]\nrole_arn = arn:x\nsource_profile = keys\n[profile run]\ncredential_process = echo\n",
        "[keys]\naws_access_key_id = FILE\naws_secret_access_key = s\n",
    );
    let source = |variables: &[(&str, &str)], profile: Option<&str>| {
        let overrides = Overrides { profile: owned(profile), ..Overrides::default() };
        Settings::read(&environment(&home, variables), &overrides).map(|settings| match settings.source {
            Source::Given(credentials) => credentials.access_key_id().to_owned(),
            Source::Process(command) => format!("run {command}"),
            Source::Container { endpoint, path, .. } => format!("{endpoint} {path}"),
            Source::Instance { profile } => format!("instance, {profile}"),
        })
    };
    let keys = [("AWS_ACCESS_KEY_ID", "ENV"), ("AWS_SECRET_ACCESS_KEY", "s")];
    assert_eq!(source(&keys, None).unwrap(), "ENV");
    assert_eq!(source(&keys, Some("keys")).unwrap(), "FILE");
    assert_eq!(source(&[], Some("run")).unwrap(), "run echo");
    assert_eq!(source(&[], None).unwrap(), "instance, default");
    let container = [("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1:8080/creds?x")];
    assert_eq!(source(&container, None).unwrap(), "http://127.0.0.1:8080 /creds?x");

    let error = |variables: &[(&str, &str)], profile| source(variables, profile).unwrap_err().to_string();
    assert_eq!(error(&[], Some("role")), "the profile `role` needs `role_arn`");
    assert_eq!(
        error(&keys[..1], None),
        "the environment has AWS_ACCESS_KEY_ID but not AWS_SECRET_ACCESS_KEY"
    );
    assert_eq!(error(&[], Some("nobody")), "no profile is named `nobody`");
    assert_eq!(
        error(&[("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://198.51.100.1/x")], None),
        "http://198.51.100.1 is neither this machine nor encrypted"
    );
}

fn owned(text: Option<&str>) -> Option<String> {
    text.map(str::to_owned)
}

fn home(config: &str, credentials: &str) -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join(".aws")).unwrap();
    fs::write(home.path().join(".aws/config"), config).unwrap();
    fs::write(home.path().join(".aws/credentials"), credentials).unwrap();
    home
}

fn environment(home: &tempfile::TempDir, variables: &[(&str, &str)]) -> Environment {
    let home = ("HOME".to_owned(), home.path().display().to_string());
    let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    variables.chain([home]).collect()
}
