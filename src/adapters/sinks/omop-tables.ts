/**
 * The tables of the OMOP Common Data Model 5.4 that effects may write: clinical data, health system, economics, derived elements
 * and metadata. Vocabularies and results are loaded by whoever keeps the database.
 *
 * Invariant: names and types of columns come from here and from nowhere else; no name in an operation becomes part of a
 * statement. The order is one in which rows refer only to tables before their own.
 */

export type OmopType = 'integer' | 'numeric' | 'date' | 'timestamp' | 'text';

export interface OmopColumn {
  readonly name: string;
  readonly type: OmopType;
  /** Most characters of a text; null without a limit. */
  readonly length: number | null;
  readonly required: boolean;
}

export interface OmopTable {
  readonly name: OmopTableName;
  readonly columns: readonly OmopColumn[];
  /** Its primary key, where it has one. */
  readonly key: string | null;
}

/** A column as `name type`; `*` after the primary key, `!` after what must not be null. */
const TABLES = {
  location: `
    location_id* integer, address_1 varchar(50), address_2 varchar(50), city varchar(50), state varchar(2),
    zip varchar(9), county varchar(20), location_source_value varchar(50), country_concept_id integer,
    country_source_value varchar(80), latitude numeric, longitude numeric`,
  care_site: `
    care_site_id* integer, care_site_name varchar(255), place_of_service_concept_id integer, location_id integer,
    care_site_source_value varchar(50), place_of_service_source_value varchar(50)`,
  provider: `
    provider_id* integer, provider_name varchar(255), npi varchar(20), dea varchar(20),
    specialty_concept_id integer, care_site_id integer, year_of_birth integer, gender_concept_id integer,
    provider_source_value varchar(50), specialty_source_value varchar(50), specialty_source_concept_id integer,
    gender_source_value varchar(50), gender_source_concept_id integer`,
  person: `
    person_id* integer, gender_concept_id! integer, year_of_birth! integer, month_of_birth integer,
    day_of_birth integer, birth_datetime timestamp, race_concept_id! integer, ethnicity_concept_id! integer,
    location_id integer, provider_id integer, care_site_id integer, person_source_value varchar(50),
    gender_source_value varchar(50), gender_source_concept_id integer, race_source_value varchar(50),
    race_source_concept_id integer, ethnicity_source_value varchar(50), ethnicity_source_concept_id integer`,
  observation_period: `
    observation_period_id* integer, person_id! integer, observation_period_start_date! date,
    observation_period_end_date! date, period_type_concept_id! integer`,
  visit_occurrence: `
    visit_occurrence_id* integer, person_id! integer, visit_concept_id! integer, visit_start_date! date,
    visit_start_datetime timestamp, visit_end_date! date, visit_end_datetime timestamp,
    visit_type_concept_id! integer, provider_id integer, care_site_id integer, visit_source_value varchar(50),
    visit_source_concept_id integer, admitted_from_concept_id integer, admitted_from_source_value varchar(50),
    discharged_to_concept_id integer, discharged_to_source_value varchar(50), preceding_visit_occurrence_id integer`,
  visit_detail: `
    visit_detail_id* integer, person_id! integer, visit_detail_concept_id! integer, visit_detail_start_date! date,
    visit_detail_start_datetime timestamp, visit_detail_end_date! date, visit_detail_end_datetime timestamp,
    visit_detail_type_concept_id! integer, provider_id integer, care_site_id integer,
    visit_detail_source_value varchar(50), visit_detail_source_concept_id integer, admitted_from_concept_id integer,
    admitted_from_source_value varchar(50), discharged_to_source_value varchar(50),
    discharged_to_concept_id integer, preceding_visit_detail_id integer, parent_visit_detail_id integer,
    visit_occurrence_id! integer`,
  condition_occurrence: `
    condition_occurrence_id* integer, person_id! integer, condition_concept_id! integer, condition_start_date! date,
    condition_start_datetime timestamp, condition_end_date date, condition_end_datetime timestamp,
    condition_type_concept_id! integer, condition_status_concept_id integer, stop_reason varchar(20),
    provider_id integer, visit_occurrence_id integer, visit_detail_id integer, condition_source_value varchar(50),
    condition_source_concept_id integer, condition_status_source_value varchar(50)`,
  drug_exposure: `
    drug_exposure_id* integer, person_id! integer, drug_concept_id! integer, drug_exposure_start_date! date,
    drug_exposure_start_datetime timestamp, drug_exposure_end_date! date, drug_exposure_end_datetime timestamp,
    verbatim_end_date date, drug_type_concept_id! integer, stop_reason varchar(20), refills integer,
    quantity numeric, days_supply integer, sig text, route_concept_id integer, lot_number varchar(50),
    provider_id integer, visit_occurrence_id integer, visit_detail_id integer, drug_source_value varchar(50),
    drug_source_concept_id integer, route_source_value varchar(50), dose_unit_source_value varchar(50)`,
  procedure_occurrence: `
    procedure_occurrence_id* integer, person_id! integer, procedure_concept_id! integer, procedure_date! date,
    procedure_datetime timestamp, procedure_end_date date, procedure_end_datetime timestamp,
    procedure_type_concept_id! integer, modifier_concept_id integer, quantity integer, provider_id integer,
    visit_occurrence_id integer, visit_detail_id integer, procedure_source_value varchar(50),
    procedure_source_concept_id integer, modifier_source_value varchar(50)`,
  device_exposure: `
    device_exposure_id* integer, person_id! integer, device_concept_id! integer, device_exposure_start_date! date,
    device_exposure_start_datetime timestamp, device_exposure_end_date date, device_exposure_end_datetime timestamp,
    device_type_concept_id! integer, unique_device_id varchar(255), production_id varchar(255), quantity integer,
    provider_id integer, visit_occurrence_id integer, visit_detail_id integer, device_source_value varchar(50),
    device_source_concept_id integer, unit_concept_id integer, unit_source_value varchar(50),
    unit_source_concept_id integer`,
  measurement: `
    measurement_id* integer, person_id! integer, measurement_concept_id! integer, measurement_date! date,
    measurement_datetime timestamp, measurement_time varchar(10), measurement_type_concept_id! integer,
    operator_concept_id integer, value_as_number numeric, value_as_concept_id integer, unit_concept_id integer,
    range_low numeric, range_high numeric, provider_id integer, visit_occurrence_id integer,
    visit_detail_id integer, measurement_source_value varchar(50), measurement_source_concept_id integer,
    unit_source_value varchar(50), unit_source_concept_id integer, value_source_value varchar(50),
    measurement_event_id integer, meas_event_field_concept_id integer`,
  observation: `
    observation_id* integer, person_id! integer, observation_concept_id! integer, observation_date! date,
    observation_datetime timestamp, observation_type_concept_id! integer, value_as_number numeric,
    value_as_string varchar(60), value_as_concept_id integer, qualifier_concept_id integer, unit_concept_id integer,
    provider_id integer, visit_occurrence_id integer, visit_detail_id integer, observation_source_value varchar(50),
    observation_source_concept_id integer, unit_source_value varchar(50), qualifier_source_value varchar(50),
    value_source_value varchar(50), observation_event_id integer, obs_event_field_concept_id integer`,
  death: `
    person_id! integer, death_date! date, death_datetime timestamp, death_type_concept_id integer,
    cause_concept_id integer, cause_source_value varchar(50), cause_source_concept_id integer`,
  note: `
    note_id* integer, person_id! integer, note_date! date, note_datetime timestamp, note_type_concept_id! integer,
    note_class_concept_id! integer, note_title varchar(250), note_text! text, encoding_concept_id! integer,
    language_concept_id! integer, provider_id integer, visit_occurrence_id integer, visit_detail_id integer,
    note_source_value varchar(50), note_event_id integer, note_event_field_concept_id integer`,
  note_nlp: `
    note_nlp_id* integer, note_id! integer, section_concept_id integer, snippet varchar(250), offset varchar(50),
    lexical_variant! varchar(250), note_nlp_concept_id integer, note_nlp_source_concept_id integer,
    nlp_system varchar(250), nlp_date! date, nlp_datetime timestamp, term_exists varchar(1),
    term_temporal varchar(50), term_modifiers varchar(2000)`,
  specimen: `
    specimen_id* integer, person_id! integer, specimen_concept_id! integer, specimen_type_concept_id! integer,
    specimen_date! date, specimen_datetime timestamp, quantity numeric, unit_concept_id integer,
    anatomic_site_concept_id integer, disease_status_concept_id integer, specimen_source_id varchar(50),
    specimen_source_value varchar(50), unit_source_value varchar(50), anatomic_site_source_value varchar(50),
    disease_status_source_value varchar(50)`,
  fact_relationship: `
    domain_concept_id_1! integer, fact_id_1! integer, domain_concept_id_2! integer, fact_id_2! integer,
    relationship_concept_id! integer`,
  payer_plan_period: `
    payer_plan_period_id* integer, person_id! integer, payer_plan_period_start_date! date,
    payer_plan_period_end_date! date, payer_concept_id integer, payer_source_value varchar(50),
    payer_source_concept_id integer, plan_concept_id integer, plan_source_value varchar(50),
    plan_source_concept_id integer, sponsor_concept_id integer, sponsor_source_value varchar(50),
    sponsor_source_concept_id integer, family_source_value varchar(50), stop_reason_concept_id integer,
    stop_reason_source_value varchar(50), stop_reason_source_concept_id integer`,
  cost: `
    cost_id* integer, cost_event_id! integer, cost_domain_id! varchar(20), cost_type_concept_id! integer,
    currency_concept_id integer, total_charge numeric, total_cost numeric, total_paid numeric,
    paid_by_payer numeric, paid_by_patient numeric, paid_patient_copay numeric, paid_patient_coinsurance numeric,
    paid_patient_deductible numeric, paid_by_primary numeric, paid_ingredient_cost numeric,
    paid_dispensing_fee numeric, payer_plan_period_id integer, amount_allowed numeric,
    revenue_code_concept_id integer, revenue_code_source_value varchar(50), drg_concept_id integer,
    drg_source_value varchar(3)`,
  condition_era: `
    condition_era_id* integer, person_id! integer, condition_concept_id! integer, condition_era_start_date! date,
    condition_era_end_date! date, condition_occurrence_count integer`,
  drug_era: `
    drug_era_id* integer, person_id! integer, drug_concept_id! integer, drug_era_start_date! date,
    drug_era_end_date! date, drug_exposure_count integer, gap_days integer`,
  dose_era: `
    dose_era_id* integer, person_id! integer, drug_concept_id! integer, unit_concept_id! integer,
    dose_value! numeric, dose_era_start_date! date, dose_era_end_date! date`,
  episode: `
    episode_id* integer, person_id! integer, episode_concept_id! integer, episode_start_date! date,
    episode_start_datetime timestamp, episode_end_date date, episode_end_datetime timestamp,
    episode_parent_id integer, episode_number integer, episode_object_concept_id! integer,
    episode_type_concept_id! integer, episode_source_value varchar(50), episode_source_concept_id integer`,
  episode_event: `
    episode_id! integer, event_id! integer, episode_event_field_concept_id! integer`,
  metadata: `
    metadata_id* integer, metadata_concept_id! integer, metadata_type_concept_id! integer, name! varchar(250),
    value_as_string varchar(250), value_as_concept_id integer, value_as_number numeric, metadata_date date,
    metadata_datetime timestamp`,
  cdm_source: `
    cdm_source_name! varchar(255), cdm_source_abbreviation! varchar(25), cdm_holder! varchar(255),
    source_description text, source_documentation_reference varchar(255), cdm_etl_reference varchar(255),
    source_release_date! date, cdm_release_date! date, cdm_version varchar(10), cdm_version_concept_id! integer,
    vocabulary_version! varchar(20)`,
} as const;

export type OmopTableName = keyof typeof TABLES;

const COLUMN = /^(\w+)([*!]?) (integer|numeric|date|timestamp|text|varchar\((\d+)\))$/;

function tableOf(name: OmopTableName): OmopTable {
  let key: string | null = null;
  const columns = TABLES[name].split(',').map((text) => {
    const [, column = '', mark = '', type = '', length] = COLUMN.exec(text.trim()) ?? [];
    if (mark === '*') key = column;
    return {
      name: column,
      type: (length === undefined ? type : 'text') as OmopType,
      length: length === undefined ? null : Number(length),
      required: mark !== '',
    };
  });
  return { name, columns, key };
}

/** In the order in which rows are inserted. */
export const OMOP_TABLES: ReadonlyMap<string, OmopTable> = new Map(
  (Object.keys(TABLES) as OmopTableName[]).map((name) => [name, tableOf(name)]),
);
