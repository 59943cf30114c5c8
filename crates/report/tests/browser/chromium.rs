//! A headless Chromium, spoken to over pipes (`--remote-debugging-pipe`: JSON messages that end with a zero byte).

#![allow(
    dead_code,
    reason = "shared by tests and an example, which need different parts"
)]

use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

#[derive(Debug)]
pub(crate) struct Chromium {
    child: Child,
    to: File,
    from: BufReader<File>,
    folder: PathBuf,
    session: String,
    sent: u64,
    complaints: Vec<String>,
}

impl Chromium {
    /// Opens the page from disk.
    pub(crate) fn open(page: &str, width: u32, height: u32) -> Chromium {
        let found = Command::new("chromium").arg("--version").output();
        assert!(
            found.is_ok_and(|output| output.status.success()),
            "chromium is missing: make setup"
        );
        let folder = std::env::temp_dir().join(format!(
            "landfall-page-{}-{width}-{}",
            std::process::id(),
            page.len()
        ));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("report.html");
        std::fs::write(&file, page).unwrap();
        let (to, from) = (folder.join("to"), folder.join("from"));
        let made = Command::new("mkfifo").args([&to, &from]).status().unwrap();
        assert!(made.success());
        // The shell gives Chromium the two pipes as descriptors 3 and 4, which std cannot.
        let script = r#"exec chromium --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run \
            --user-data-dir="$1/profile" --window-size="$2,$3" --remote-debugging-pipe about:blank 3<"$1/to" 4>"$1/from""#;
        let child = Command::new("sh")
            .args(["-c", script, "sh"])
            .arg(&folder)
            .args([width.to_string(), height.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut browser = Chromium {
            to: File::options().write(true).open(&to).unwrap(),
            from: BufReader::new(File::open(&from).unwrap()),
            child,
            folder,
            session: String::new(),
            sent: 0,
            complaints: Vec::new(),
        };
        browser.begin(&file, width, height);
        browser
    }

    fn begin(&mut self, file: &Path, width: u32, height: u32) {
        let target = self.ask("Target.createTarget", json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let session = self.ask("Target.attachToTarget", attach);
        self.session = session["sessionId"].as_str().unwrap().to_owned();
        let metrics = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600});
        self.ask("Emulation.setDeviceMetricsOverride", metrics);
        for domain in ["Runtime.enable", "Log.enable", "Page.enable"] {
            self.ask(domain, json!({}));
        }
        let url = format!("file://{}", file.display());
        self.ask("Page.navigate", json!({"url": url}));
        self.eventually("document.readyState", "complete");
    }

    /// Sends a request and waits for its answer; what the browser says meanwhile is looked at for complaints.
    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.sent += 1;
        let id = self.sent;
        let mut request = json!({"id": id, "method": method, "params": params});
        if !self.session.is_empty() {
            request["sessionId"] = json!(self.session);
        }
        let mut bytes = request.to_string().into_bytes();
        bytes.push(0);
        self.to.write_all(&bytes).unwrap();
        loop {
            let mut answer = Vec::new();
            self.from.read_until(0, &mut answer).unwrap();
            assert_eq!(answer.pop(), Some(0), "the browser is gone");
            let answer: Value = serde_json::from_slice(&answer).unwrap();
            if answer["id"] == json!(id) {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].clone();
            }
            let bad = match answer["method"].as_str() {
                Some("Runtime.exceptionThrown") => true,
                Some("Runtime.consoleAPICalled") => answer["params"]["type"] == "error",
                Some("Log.entryAdded") => answer["params"]["entry"]["level"] == "error",
                _ => false,
            };
            if bad {
                self.complaints.push(answer["params"].to_string());
            }
        }
    }

    pub(crate) fn value(&mut self, expression: &str) -> Value {
        let params = json!({"expression": expression, "returnByValue": true, "userGesture": true});
        let answer = self.ask("Runtime.evaluate", params);
        assert!(
            answer.get("exceptionDetails").is_none(),
            "{expression}: {answer}"
        );
        answer["result"]["value"].clone()
    }

    /// Waits for a value by asking again, however long it takes: who runs the tests has a limit of their own.
    pub(crate) fn eventually(&mut self, expression: &str, wanted: &str) -> Value {
        loop {
            let value = self.value(expression);
            if value == wanted {
                return value;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }

    /// A real click, at the middle of the element, as a mouse would.
    pub(crate) fn click(&mut self, selector: &str) {
        let expression = format!(
            "(() => {{ const e = document.querySelector({selector:?}); e.scrollIntoView({{block: 'center'}}); \
             const r = e.getClientRects()[0]; return [r.x + Math.min(r.width / 2, 40), r.y + r.height / 2]; }})()"
        );
        let at = self.value(&expression);
        for kind in ["mousePressed", "mouseReleased"] {
            let event =
                json!({"type": kind, "x": at[0], "y": at[1], "button": "left", "clickCount": 1});
            self.ask("Input.dispatchMouseEvent", event);
        }
    }

    /// What is in the window, as PNG.
    pub(crate) fn screenshot(&mut self) -> Vec<u8> {
        let answer = self.ask("Page.captureScreenshot", json!({"format": "png"}));
        base64(answer["data"].as_str().unwrap())
    }

    /// Counters of the browser's own: `Nodes`, `LayoutCount`, `RecalcStyleCount` …
    pub(crate) fn counter(&mut self, name: &str) -> f64 {
        self.ask("Performance.enable", json!({}));
        let answer = self.ask("Performance.getMetrics", json!({}));
        let mut metrics = answer["metrics"].as_array().unwrap().iter();
        let metric = metrics.find(|metric| metric["name"] == name);
        metric.unwrap_or_else(|| panic!("no {name}: {answer}"))["value"]
            .as_f64()
            .unwrap()
    }

    pub(crate) fn complaints(&mut self) -> Vec<String> {
        self.value("0");
        self.complaints.clone()
    }
}

fn base64(text: &str) -> Vec<u8> {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let value = |byte: u8| LETTERS.iter().position(|&letter| letter == byte);
    let (mut bits, mut held, mut out) = (0u32, 0, Vec::new());
    for value in text.bytes().filter_map(value) {
        bits = bits << 6 | value as u32;
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push((bits >> held) as u8);
        }
    }
    out
}

impl Drop for Chromium {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
