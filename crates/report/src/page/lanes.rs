//! Cache-line lanes: the versions of each line from old to new, what was written back for certain, what survived.

use crate::html::Html;
use crate::{Lane, Survival};

pub(super) fn lanes(html: &mut Html, finding: &str, lanes: &[Lane]) {
    html.raw(
        "<p class=\"legend\"><span class=\"version overwritten\">written over for certain</span> \
         <span class=\"version possible\">could have survived</span> \
         <span class=\"version survived\">survived</span> \
         <span class=\"version lost\">lost</span></p>",
    );
    for lane in lanes {
        html.element("details", &[("class", "lane"), ("open", "")], |html| {
            html.say("summary", &[], &lane.name);
            html.element("ol", &[], |html| {
                for (index, version) in lane.versions.iter().enumerate() {
                    let frontier = version.state != Survival::Overwritten
                        && index > 0
                        && lane.versions[index - 1].state == Survival::Overwritten;
                    if frontier {
                        html.raw("<li class=\"frontier\">guaranteed from here ▸</li>");
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
