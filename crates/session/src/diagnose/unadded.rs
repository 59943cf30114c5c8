//! Findings about stores that no transaction answers for: which failures are symptoms of one, and how recoveries that did not fail are
//! told of it.

use crate::diagnose::cause::{Overtaking, seen};
use crate::diagnose::diagnosis::{Diagnosis, internal};
use crate::diagnose::provenance::first_reads;
use crate::diagnose::transactions;
use crate::error::Error;
use crate::programs::{Failure, LoggedRun, Replayer};
use crate::report::SearchReport;
use landfall_check::finding::Unprotected;
use landfall_finding::{Finding, Kind, Place, Severity};
use landfall_model::log::Cut;
use landfall_native::{Execution, SubjectError};

impl Diagnosis<'_> {
    /// Has a failing recovery read what a transaction on the list does not answer for? Then it is one more symptom of that.
    pub(super) fn tells_of_listed(
        &self,
        symptom: &Finding,
        (first, failure): (&LoggedRun, &Failure),
        failed: &Execution,
        report: &mut SearchReport,
    ) -> bool {
        let Some(transactions) = &self.transactions else {
            return false;
        };
        let seen = seen(first, failure, failed);
        let listed = |at: &Place| {
            let mut stores = report.all().flat_map(Finding::unadded);
            stores.any(|store| store.at.as_ref() == Some(at))
        };
        let Some(at) = transactions.tells_of(&seen, listed) else {
            return false;
        };
        report.counts_with(&at, symptom)
    }

    /// The same failure as one for want of a snapshot, if it is.
    pub(super) fn of_transaction(
        &mut self,
        failure: &Finding,
        runs: &[LoggedRun],
        failures: &[Failure],
    ) -> Result<Option<Finding>, Error> {
        let Some(transactions) = self.transactions.take() else {
            return Ok(None);
        };
        let replayer = self.replayer()?;
        let group = match transactions.cause(runs, failures, replayer) {
            Err(SubjectError::Stopped) => None,
            cause => cause.map_err(internal)?,
        };
        let cause = group.map(|group| {
            let mut cause = failure.clone();
            transactions.tell(group, &mut cause, runs, replayer);
            cause.message = transactions::MESSAGE.to_owned();
            let at =
                (failure.at.as_ref()).map_or(String::new(), |at| format!(" at {}", at.colons()));
            cause.notes.insert(0, format!("{}{at}", failure.message));
            cause
        });
        self.transactions = Some(transactions);
        Ok(cause)
    }

    /// A recovery that did not fail may tell that a transaction does not answer for the store of this entry.
    pub(crate) fn unadded(
        &mut self,
        entry: Cut,
        why: Unprotected,
        (reads, times): (usize, u64),
        failures: &[Failure],
        report: &mut SearchReport,
    ) -> Result<(), Error> {
        let Some(transactions) = self.transactions.take() else {
            return Ok(());
        };
        let group = transactions.group_of(entry);
        let story = |runs: &[LoggedRun]| Overtaking::nothing(runs, failures);
        let brief = || {
            let mut told = Finding::new(
                Kind::MissingSnapshot,
                Severity::Warning,
                transactions::MESSAGE,
            );
            told.executions = times;
            (told, None)
        };
        let tell = |told: &mut Finding, runs: &[LoggedRun], replayer: &Replayer| {
            let recovery = runs.last().map(|run| &run.execution);
            let read = recovery.and_then(|recovery| {
                let (event, ..) = first_reads(recovery).nth(reads)?;
                let at = replayer
                    .names(failures.len())
                    .place(&recovery.events[event])?;
                Some(format!(" at {}", at.colons()))
            });
            let read = read.unwrap_or_default();
            if let Some(group) = group {
                transactions.tell(group, told, runs, replayer);
            }
            (told.severity, told.executions) = (Severity::Warning, times);
            told.message = transactions::MESSAGE.to_owned();
            told.notes.push(match why {
                Unprotected::NotUndone => format!(
                    "recovery finds it{read} though the power failed before the transaction's end, and the rest is undone"
                ),
                Unprotected::NotKept => format!(
                    "recovery misses it{read} though the transaction had ended: nothing writes it back"
                ),
            });
        };
        let told = match group {
            Some(_) => self.judged(failures, story, report, brief, tell),
            None => Ok(()),
        };
        self.transactions = Some(transactions);
        told
    }

    /// Does a recovery that did not fail see more than the listed lack of a snapshot? What it reads behind that is not to be judged.
    pub(super) fn follows_unadded(
        &self,
        finding: &Finding,
        runs: &[LoggedRun],
        failures: &[Failure],
        report: &SearchReport,
    ) -> bool {
        let listed = |at: &Place| {
            let mut stores = report.all().flat_map(Finding::unadded);
            stores.any(|store| store.at.as_ref() == Some(at))
        };
        let (Some(transactions), Some(failure), Some(recovery)) =
            (&self.transactions, failures.first(), runs.get(1))
        else {
            return false;
        };
        finding.kind != Kind::MissingSnapshot
            && transactions.read_by(&recovery.execution, failure, listed)
    }
}

/// Is a finding about stores that another one says no transaction answers for?
pub(super) fn is_of_unadded(known: &Finding, finding: &Finding) -> bool {
    let unadded = |at: &Place| {
        known
            .unadded()
            .any(|store| store.at.as_ref().is_some_and(|of| of.same_line(at)))
    };
    let mut stores = finding.stores.iter().filter_map(|store| store.at.as_ref());
    finding.kind != Kind::MissingSnapshot && stores.any(unadded)
}
