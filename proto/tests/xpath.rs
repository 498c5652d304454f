//! XPath answers compared with those of libxml2.
//!
//! The table was written by `tests/xpath_cases.py`. `SCHWANN_XPATH_CASES` names another one, freshly made.

use std::{env, fs};

use schwann_proto::wire::query::Query;
use schwann_proto::wire::xml::Document;

#[test]
fn queries_have_the_value_that_libxml2_gives_them() {
    let table = match env::var_os("SCHWANN_XPATH_CASES") {
        Some(path) => fs::read_to_string(path).unwrap(),
        None => include_str!("vectors/xpath_cases.tsv").into(),
    };
    let mut documents = Vec::new();
    let mut cases = 0;
    let mut wrong = Vec::new();
    for line in table.lines() {
        let columns: Vec<&str> = line.split('\t').collect();
        match *columns {
            ["document", text] => documents.push(Document::parse(text.as_bytes()).document),
            ["case", document, expected, query] => {
                cases += 1;
                let answer = answer(&documents[document.parse::<usize>().unwrap()], query);
                // What random nonsense costs too much is not compared.
                if answer != expected && answer != "T" {
                    wrong.push(format!("document {document}: {query}\n  is {answer}, should be {expected}"));
                }
            }
            _ => panic!("{line}"),
        }
    }
    assert!(cases > 300, "only {cases} cases");
    assert!(wrong.is_empty(), "{} of {cases} differ:\n{}", wrong.len(), wrong.join("\n"));
}

fn answer(document: &Document, query: &str) -> &'static str {
    match Query::parse(query).map(|query| query.evaluate(document)) {
        Err(_) => "E",
        Ok(Err(_)) => "T",
        Ok(Ok(true)) => "1",
        Ok(Ok(false)) => "0",
    }
}
