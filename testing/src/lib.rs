//! Dense oracle, generators and the corpus runner of Lacunar.
