//! What a change makes of a crawl's spec.

use crate::proto::v1;

/// The spec of a crawl after a change: what `update` leaves out stays.
pub fn merged(spec: &v1::CrawlSpec, update: &v1::UpdateCrawlRequest) -> v1::CrawlSpec {
    let mut spec = spec.clone();
    if let Some(budget) = update.budget {
        spec.budget = budget;
    }
    if let Some(contact) = &update.contact {
        spec.contact.clone_from(contact);
    }
    if let Some(scope) = &update.scope {
        spec.scope = Some(scope.clone());
    }
    if let Some(new) = &update.limits {
        let old = spec.limits.get_or_insert_default();
        keep_if_zero(&mut old.in_flight_max, new.in_flight_max);
        old.delay_ms_min = new.delay_ms_min.or(old.delay_ms_min);
        keep_if_zero(&mut old.connect_ms_max, new.connect_ms_max);
        keep_if_zero(&mut old.first_byte_ms_max, new.first_byte_ms_max);
        keep_if_zero(&mut old.fetch_ms_max, new.fetch_ms_max);
        keep_if_zero(&mut old.body_bytes_max, new.body_bytes_max);
        keep_if_zero(&mut old.redirects_max, new.redirects_max);
        keep_if_zero(&mut old.links_per_page_max, new.links_per_page_max);
        keep_if_zero(&mut old.header_bytes_max, new.header_bytes_max);
        old.bytes_per_second_min = new.bytes_per_second_min.or(old.bytes_per_second_min);
        keep_if_zero(&mut old.expansion_max, new.expansion_max);
        keep_if_zero(&mut old.refuse_large, new.refuse_large);
        old.delay_factor = new.delay_factor.or(old.delay_factor);
        keep_if_zero(&mut old.delay_ms_max, new.delay_ms_max);
        keep_if_zero(&mut old.robots_tries_max, new.robots_tries_max);
        keep_if_zero(
            &mut old.requests_per_address_max,
            new.requests_per_address_max,
        );
        old.links_waiting_max = new.links_waiting_max.or(old.links_waiting_max);
        old.links_waiting_bytes_max = (new.links_waiting_bytes_max).or(old.links_waiting_bytes_max);
    }
    if let Some(new) = &update.judge {
        let old = spec.judge.get_or_insert_default();
        keep_if_zero(&mut old.address, new.address.clone());
        keep_if_zero(&mut old.ca_file, new.ca_file.clone());
        keep_if_zero(&mut old.token_file, new.token_file.clone());
        keep_if_zero(&mut old.deadline_ms, new.deadline_ms);
        keep_if_zero(&mut old.batch_pages_max, new.batch_pages_max);
    }
    spec
}

fn keep_if_zero<T: Default + PartialEq>(old: &mut T, new: T) {
    if new != T::default() {
        *old = new;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_update_changes_only_what_it_names() {
        let limits = Some(v1::Limits {
            in_flight_max: 4,
            delay_ms_min: Some(10),
            ..Default::default()
        });
        let old = v1::CrawlSpec {
            limits,
            ..Default::default()
        };
        let update = v1::UpdateCrawlRequest {
            budget: Some(9),
            limits: Some(v1::Limits {
                delay_ms_min: Some(0),
                ..Default::default()
            }),
            ..Default::default()
        };
        let new = merged(&old, &update);
        assert_eq!(new.budget, 9);
        let limits = new.limits.unwrap();
        assert_eq!((limits.in_flight_max, limits.delay_ms_min), (4, Some(0)));
    }
}
