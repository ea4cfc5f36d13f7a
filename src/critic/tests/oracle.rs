//! linfa-bayes as the oracle: on small data it is right, only slow.

use linfa::dataset::DatasetBase;
use linfa::param_guard::ParamGuard;
use linfa::traits::{Fit, FitWith, Predict, PredictInplace};
use linfa_bayes::{MultinomialNb, NaiveBayes};
use ndarray::{Array1, Array2};
use proptest::prelude::*;
use sprs::CsMat;

use crate::critic::{Priors, SparseCounts, SparseNb, SparseNbError, SparseNbParams};

const TERMS: usize = 40;
const CLASSES: usize = 5;

type Labelled = DatasetBase<SparseCounts, Array1<usize>>;

/// Documents with mostly zero counts, and labels among which each class occurs.
fn labelled() -> impl Strategy<Value = (Array2<f64>, Array1<usize>)> {
    let count = prop_oneof![4 => Just(0_u8), 1 => 1..9_u8];
    let documents = prop::collection::vec(prop::collection::vec(count, TERMS), 60);
    let labels = prop::collection::vec(0..CLASSES, 60 - CLASSES);
    (documents, labels).prop_map(|(documents, labels)| {
        let flat: Vec<f64> = documents.concat().into_iter().map(f64::from).collect();
        let labels: Array1<usize> = (0..CLASSES).chain(labels).collect();
        (Array2::from_shape_vec((60, TERMS), flat).unwrap(), labels)
    })
}

fn sparse(dense: &Array2<f64>) -> SparseCounts {
    let counts = dense.mapv(crate::critic::weights::narrow);
    SparseCounts::new(CsMat::csr_from_dense(counts.view(), 0.0)).unwrap()
}

fn batches(dense: &Array2<f64>, labels: &Array1<usize>, size: usize) -> Vec<Labelled> {
    let rows: Vec<usize> = (0..labels.len()).collect();
    rows.chunks(size)
        .map(|rows| {
            let records = sparse(&dense.select(ndarray::Axis(0), rows));
            DatasetBase::new(records, labels.select(ndarray::Axis(0), rows))
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn likelihoods_and_labels_are_those_of_linfa_bayes(
        (dense, labels) in labelled(),
        alpha in 0.01..2.0_f64,
    ) {
        let theirs = MultinomialNb::params()
            .alpha(alpha)
            .fit(&DatasetBase::new(dense.clone(), labels.clone()))
            .unwrap();
        let records = sparse(&dense);
        // linfa-bayes knows counted priors only.
        let ours = SparseNbParams::new()
            .alpha(alpha)
            .priors(Priors::Counted)
            .fit(&DatasetBase::new(records.clone(), labels))
            .unwrap();

        let expected = theirs.joint_log_likelihood(dense.view());
        let likelihood = ours.joint_log_likelihood(&records);
        for class in 0..CLASSES {
            for document in 0..dense.nrows() {
                let difference = likelihood[(document, class)] - expected[&class][document];
                prop_assert!(difference.abs() < 1e-4, "{difference}");
            }
        }
        let theirs: Array1<usize> = theirs.predict(&dense);
        let ours: Array1<usize> = ours.predict(&records);
        for document in 0..dense.nrows() {
            let mut scores: Vec<f64> = (0..CLASSES).map(|class| expected[&class][document]).collect();
            scores.sort_by(|a, b| b.total_cmp(a));
            // Theirs breaks ties by the order of a hash table.
            if scores[0] - scores[1] > 1e-6 {
                prop_assert_eq!(ours[document], theirs[document]);
            }
        }
    }

    #[test]
    fn fitting_in_batches_of_any_order_equals_fitting_at_once(
        (dense, labels) in labelled(),
        size in 1..40_usize,
    ) {
        let params = SparseNbParams::new().alpha(0.1).check().unwrap();
        let whole = params.fit(&batches(&dense, &labels, 60)[0]).unwrap();
        let in_batches = batches(&dense, &labels, size)
            .iter()
            .rev()
            .try_fold(None, |model, batch| params.fit_with(model, batch).map(Some))
            .unwrap();
        prop_assert_eq!(in_batches.as_ref(), Some(&whole));

        let mut merged: Option<SparseNb> = None;
        for batch in batches(&dense, &labels, size) {
            let part = params.fit(&batch).unwrap();
            match &mut merged {
                Some(merged) => merged.merge(part).unwrap(),
                None => merged = Some(part),
            }
        }
        prop_assert_eq!(merged, Some(whole));
    }
}

#[test]
fn the_example_of_scikit_learn_gives_its_numbers() {
    // The test of linfa-bayes 0.8.1, whose numbers are from sklearn.naive_bayes.MultinomialNB.
    let dense = ndarray::array![[1., 0.], [2., 0.], [3., 0.], [0., 1.], [0., 2.], [0., 3.]];
    let records = sparse(&dense);
    let labels = Array1::from(vec![0, 0, 0, 1, 1, 1]);
    let model = SparseNbParams::new()
        .fit(&DatasetBase::new(records.clone(), labels.clone()))
        .unwrap();
    let likelihood = model.joint_log_likelihood(&records);
    let expected = [
        -0.826_678_57,
        -0.960_209_97,
        -1.093_741_36,
        -2.772_588_72,
        -4.852_030_26,
        -6.931_471_81,
    ];
    for (document, expected) in expected.into_iter().enumerate() {
        assert!((likelihood[(document, 0)] - expected).abs() < 1e-6);
    }
    let mut predicted = model.default_target(&records);
    model.predict_inplace(&records, &mut predicted);
    assert_eq!(predicted, labels);
}

#[test]
fn what_is_no_count_or_fits_no_model_is_refused() {
    let fraction = CsMat::csr_from_dense(ndarray::array![[0.5_f32]].view(), 0.0);
    assert!(matches!(
        SparseCounts::new(fraction),
        Err(SparseNbError::NotACount(_))
    ));
    assert!(matches!(
        SparseCounts::from_bags(2, [[(2, 1)].as_slice()]),
        Err(SparseNbError::TermOutside { term: 2, terms: 2 })
    ));
    let params = SparseNbParams::new();
    assert!(matches!(
        params.alpha(-1.0).check(),
        Err(SparseNbError::Alpha(_))
    ));
    let records = SparseCounts::from_bags(2, [[(0, 1)].as_slice()]).unwrap();
    let dataset = DatasetBase::new(records, Array1::from(vec![0, 1]));
    assert!(matches!(
        params.fit(&dataset),
        Err(SparseNbError::Labels {
            documents: 1,
            labels: 2
        })
    ));
}
