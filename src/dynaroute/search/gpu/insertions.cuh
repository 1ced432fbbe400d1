// What an insertion is judged by: whether a customer may stand between two neighbours on a route.
#pragma once
#include "tour.cuh"

// How long it takes from one node to another; nothing to the end of an open route.
FN int time_between(const Problem& problem, const RulesOf& rules, int one, int other) {
  if (ends_open(problem, other)) return 0;
  return rules.durations[(i64)place_of(problem, one) * problem.nodes + place_of(problem, other)];
}

FN int distance_between(const Problem& problem, const RulesOf& rules, int one, int other) {
  if (ends_open(problem, other)) return 0;
  return rules.legs[(i64)place_of(problem, one) * problem.nodes + place_of(problem, other)];
}

FN Span span_at(const Problem& problem, const RulesOf& rules, int node) {
  int place = place_of(problem, node);
  return Span{rules.service[place], rules.early[place], rules.late[place]};
}

// Whether a customer may be inserted after a node of a route, by the parts of the route before and after that place.
template <class Index>
FN bool is_allowed_after(const Problem& problem, const Tour<Index>& tour, int route, int before, int customer) {
  const RulesOf rules = rules_on(problem, route);
  const Parts& parts = tour.parts;
  int after = tour.next[before];
  if (HAS_PICKUPS) {
    int pickup = rules.pickups[customer], demand = problem.demands[customer];
    if (parts.peak_before[before] + demand > rules.capacity || parts.peak_after[before] + pickup > rules.capacity)
      return false;
    if (rules.is_last && demand > 0 && before < problem.nodes && rules.pickups[before] > 0) return false;
    if (rules.is_last && pickup > 0 && after < problem.nodes && problem.demands[after] > 0) return false;
  }
  if (HAS_DISTANCES) {
    int detour = distance_between(problem, rules, before, customer) + distance_between(problem, rules, customer, after) -
                 distance_between(problem, rules, before, after);
    if (detour > parts.spare[route]) return false;
  }
  if (HAS_TIMES) {
    int begin = larger(parts.ready[before] + time_between(problem, rules, before, customer), rules.early[customer]);
    if (begin > rules.late[customer]) return false;
    if (begin + rules.service[customer] + time_between(problem, rules, customer, after) > parts.due[after]) return false;
  }
  if (HAS_DURATIONS && rules.longest_duration < NEVER) {
    Span head{parts.spent[before], parts.early[before], parts.late[before]};
    Span tail{parts.spent_after[after], parts.early_after[after], parts.late_after[after]};
    Span inserted = follow(head, time_between(problem, rules, before, customer), span_at(problem, rules, customer));
    if (follow(inserted, time_between(problem, rules, customer, after), tail).spent > rules.longest_duration) return false;
  }
  return true;
}

// Consider inserting a customer after a node; the rules are only looked at if it would be the best place so far.
template <class Index>
FN void prefer_if_allowed(
    const Problem& problem, const Tour<Index>& tour, Place& best, int cost, int before, int customer) {
  if (RULES && ((u32)(cost + BIAS) > best.cost || !is_allowed_after(problem, tour, tour.route[before], before, customer))) return;
  prefer(best, (u32)(cost + BIAS), (u32)before);
}

// One lane only: what is known of a route's parts up to each node; false if a limit is broken.
template <class Index>
FN bool drive_forwards(const Problem& problem, const Tour<Index>& tour, int route) {
  const RulesOf rules = rules_on(problem, route);
  const Parts& parts = tour.parts;
  int depot = problem.nodes + route, load = 0, way = 0;
  bool is_right = true;
  if (HAS_PICKUPS) load = rules.capacity - tour.room[route];
  if (HAS_TIMES) parts.ready[depot] = rules.early[0];
  if (HAS_DURATIONS) {
    parts.spent[depot] = 0;
    parts.early[depot] = rules.early[0];
    parts.late[depot] = NEVER;
  }
  if (HAS_PICKUPS) parts.peak_before[depot] = load;
  int last = depot;
  for (int node = tour.next[depot]; node != depot; node = tour.next[node]) {
    if (HAS_DISTANCES) way += distance_between(problem, rules, last, node);
    int drive = time_between(problem, rules, last, node);
    if (HAS_TIMES) {
      int begin = larger(parts.ready[last] + drive, rules.early[node]);
      is_right &= begin <= rules.late[node];
      parts.ready[node] = begin + rules.service[node];
    }
    if (HAS_DURATIONS) {
      Span upto = follow(Span{parts.spent[last], parts.early[last], parts.late[last]}, drive, span_at(problem, rules, node));
      parts.spent[node] = upto.spent;
      parts.early[node] = upto.early;
      parts.late[node] = upto.late;
    }
    if (HAS_PICKUPS) {
      load += rules.pickups[node] - problem.demands[node];
      parts.peak_before[node] = larger(parts.peak_before[last], load);
    }
    last = node;
  }
  if (HAS_PICKUPS) is_right &= parts.peak_before[last] <= rules.capacity;
  if (HAS_TIMES) is_right &= parts.ready[last] + time_between(problem, rules, last, depot) <= rules.late[0];
  if (HAS_DISTANCES) {
    way += distance_between(problem, rules, last, depot);
    parts.spare[route] = rules.longest_distance - way;
    is_right &= way <= rules.longest_distance;
  }
  if (HAS_DURATIONS && rules.longest_duration < NEVER) {
    Span all = follow(
        Span{parts.spent[last], parts.early[last], parts.late[last]}, time_between(problem, rules, last, depot),
        Span{0, 0, rules.late[0]});
    is_right &= all.spent <= rules.longest_duration;
  }
  return is_right;
}

// One lane only: what is known of a route's parts from each node on.
template <class Index>
FN void drive_backwards(const Problem& problem, const Tour<Index>& tour, int route) {
  const RulesOf rules = rules_on(problem, route);
  const Parts& parts = tour.parts;
  int depot = problem.nodes + route, load = 0, following = depot, peak = 0;
  if (HAS_PICKUPS)
    for (int node = tour.next[depot]; node != depot; node = tour.next[node]) load += rules.pickups[node];
  if (HAS_TIMES) parts.due[depot] = rules.late[0];
  if (HAS_DURATIONS) {
    parts.spent_after[depot] = parts.early_after[depot] = 0;
    parts.late_after[depot] = rules.late[0];
  }
  for (int node = tour.prev[depot]; node != depot; node = tour.prev[node]) {
    int drive = time_between(problem, rules, node, following);
    if (HAS_TIMES) parts.due[node] = smaller(rules.late[node], parts.due[following] - drive - rules.service[node]);
    if (HAS_DURATIONS) {
      Span rest{parts.spent_after[following], parts.early_after[following], parts.late_after[following]};
      Span from = follow(span_at(problem, rules, node), drive, rest);
      parts.spent_after[node] = from.spent;
      parts.early_after[node] = from.early;
      parts.late_after[node] = from.late;
    }
    if (HAS_PICKUPS) {
      peak = larger(peak, load);
      parts.peak_after[node] = peak;
      load += problem.demands[node] - rules.pickups[node];
    }
    following = node;
  }
  if (HAS_PICKUPS) parts.peak_after[depot] = larger(peak, load);
}

// Two lanes: both.
template <class Index>
FN bool drive_both_ways(const Problem& problem, const Tour<Index>& tour, int route) {
  bool is_right = true;
  for (int side = LANE; side < 2; side += WIDTH) {
    if (side == 0) is_right &= drive_forwards(problem, tour, route);
    if (side == 1) drive_backwards(problem, tour, route);
  }
  return is_right;
}

// After a route has changed: know its parts again; false, in every lane, if it breaks a rule.
template <class Index>
FN bool refresh_route(const Problem& problem, const Workplace<Index>& at, int route) {
  if (!RULES) return true;
  bool is_right = drive_both_ways(problem, at.tour, route);
  int wrong = ADD(is_right ? 0 : 1);
  SYNC();
  return wrong == 0;
}
