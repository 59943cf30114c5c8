//! `--within FUNC` and `--without FUNC`: one list, in the order they were typed, for the last one that matches decides.

use clap::{Arg, ArgAction, ArgMatches, Command};
use landfall::PreemptIn;

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Directives(pub(crate) Vec<(PreemptIn, String)>);

const WITHIN: &str = "within";
const WITHOUT: &str = "without";

fn argument(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name)
        .long(name)
        .value_name("FUNC")
        .action(ArgAction::Append)
        .help(help)
        .help_heading("Threads")
}

impl clap::Args for Directives {
    fn augment_args(command: Command) -> Command {
        let within = "Preempt threads only while this function is on their call stack. Of several --within and --without, the last one that matches decides";
        let without = "Never preempt a thread while this function is on its call stack";
        command
            .arg(argument(WITHIN, within))
            .arg(argument(WITHOUT, without))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Directives::augment_args(command)
    }
}

impl clap::FromArgMatches for Directives {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Directives, clap::Error> {
        let mut found: Vec<(usize, PreemptIn, String)> = Vec::new();
        for (name, directive) in [(WITHIN, PreemptIn::Within), (WITHOUT, PreemptIn::Without)] {
            let places = matches.indices_of(name).into_iter().flatten();
            let values = matches.get_many::<String>(name).into_iter().flatten();
            found.extend(
                places
                    .zip(values)
                    .map(|(at, value)| (at, directive, value.clone())),
            );
        }
        found.sort_by_key(|&(at, ..)| at);
        let directives = found
            .into_iter()
            .map(|(_, directive, name)| (directive, name));
        Ok(Directives(directives.collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Directives::from_arg_matches(matches)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::PreemptIn::{Within, Without};
    use super::*;
    use clap::{Args, FromArgMatches};

    #[test]
    fn the_order_is_kept() {
        let line = "x --without a --within=b --without c";
        let matches = Directives::augment_args(Command::new("x")).get_matches_from(line.split(' '));
        let found = Directives::from_arg_matches(&matches).expect("parses");
        let name = str::to_owned;
        let expected = [
            (Without, name("a")),
            (Within, name("b")),
            (Without, name("c")),
        ];
        assert_eq!(found.0, expected);
    }
}
