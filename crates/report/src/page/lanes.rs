//! Cache-line lanes: the versions of each line from old to new, what was written back for certain, what survived.

use crate::html::Html;
use landfall_finding::{Lane, Survival};

pub(super) fn lanes(html: &mut Html, finding: &str, lanes: &[Lane]) {
    html.raw(
        "<p class=\"hint\">A cache line reaches memory as a whole, in any of the versions that its stores made, from the last one that \
         was written back for certain on. Which one it was when the power failed is up to the hardware.</p>\
         <p class=\"legend\"><span class=\"version overwritten\">written over for certain</span> \
         <span class=\"version possible\">could have survived</span> \
         <span class=\"version survived\">survived</span> \
         <span class=\"version lost\">lost</span></p>",
    );
    for lane in lanes {
        html.element("details", &[("class", "lane"), ("open", "")], |html| {
            html.say("summary", &[], &format!("{}: {}", lane.name, fate(lane)));
            html.element("ol", &[], |html| {
                for (index, version) in lane.versions.iter().enumerate() {
                    if index == frontier(lane) {
                        html.raw(
                            "<li class=\"frontier\">guaranteed to be<br>at least this new ▸</li>",
                        );
                    }
                    let class = match version.state {
                        Survival::Overwritten => "version overwritten",
                        Survival::Possible => "version possible",
                        Survival::Survived => "version survived",
                        Survival::Lost => "version lost",
                    };
                    let related = version
                        .row
                        .map_or_else(String::new, |row| format!("{finding}-row{row}"));
                    let attributes = [
                        ("class", class),
                        ("tabindex", "0"),
                        ("data-related", related.as_str()),
                    ];
                    html.element("li", &attributes, |html| {
                        html.say("code", &[], &version.text);
                        let state = match version.state {
                            Survival::Overwritten => "written over for certain",
                            Survival::Possible => "could have survived",
                            Survival::Survived => "survived",
                            Survival::Lost => "lost",
                        };
                        html.say("small", &[], state);
                    });
                }
            });
        });
    }
}

/// The oldest version that could survive.
fn frontier(lane: &Lane) -> usize {
    let possible = |version: &landfall_finding::LaneVersion| version.state != Survival::Overwritten;
    lane.versions.iter().position(possible).unwrap_or(0)
}

/// In a sentence.
fn fate(lane: &Lane) -> &'static str {
    let any = |state: Survival| lane.versions.iter().any(|version| version.state == state);
    match (any(Survival::Lost), any(Survival::Possible)) {
        (true, _) => "what was stored last did not reach memory",
        (false, true) => "all of it reached memory, by luck: nothing had made sure",
        (false, false) => "written back, nothing to lose",
    }
}
