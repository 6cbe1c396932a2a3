//! [`Mlp`]: a multilayer perceptron, evaluated to the same bits everywhere.

use serde::{Deserialize, Serialize};

/// The largest number of layers.
const MAX_LAYERS: usize = 16;
/// The largest number of a layer's inputs and outputs.
const MAX_WIDTH: usize = 4096;
/// The largest absolute value of a weight: no sum overflows.
const MAX_WEIGHT: f64 = 1e6;

/// The function between layers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Activation {
    /// The hyperbolic tangent.
    #[default]
    Tanh,
    /// The larger of the value and 0.
    Relu,
}

impl Activation {
    /// Both, the default first.
    pub const ALL: [Activation; 2] = [Activation::Tanh, Activation::Relu];

    /// Its name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Activation::Tanh => "tanh",
            Activation::Relu => "relu",
        }
    }

    fn of(self, value: f64) -> f64 {
        match self {
            Activation::Tanh => libm::tanh(value),
            Activation::Relu => value.max(0.0),
        }
    }
}

/// A layer: for each output a row of weights, one for each input, and a bias.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layer {
    /// The weights, a row for each output.
    pub weights: Vec<Vec<f64>>,
    /// What is added to each output.
    pub bias: Vec<f64>,
}

/// Why layers do not make a perceptron. Layers are counted from 1.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MlpError {
    /// None, or too many.
    #[error("there are {0} layers: there can be 1 to {MAX_LAYERS}")]
    Count(usize),
    /// A layer is empty or too wide.
    #[error(
        "layer {layer} has {inputs} inputs and {outputs} outputs: each can be 1 to {MAX_WIDTH}"
    )]
    Width {
        /// Which one.
        layer: usize,
        /// Its inputs.
        inputs: usize,
        /// Its outputs.
        outputs: usize,
    },
    /// A row is longer or shorter than the first.
    #[error("row {row} of the weights of layer {layer} has {got} numbers, not {expected}")]
    Ragged {
        /// Which layer.
        layer: usize,
        /// Which row, from 1.
        row: usize,
        /// Its length.
        got: usize,
        /// The number of the layer's inputs.
        expected: usize,
    },
    /// Not one bias an output.
    #[error("layer {layer} has {got} biases for {expected} outputs")]
    Bias {
        /// Which layer.
        layer: usize,
        /// Its biases.
        got: usize,
        /// Its outputs.
        expected: usize,
    },
    /// A layer takes what the one before does not give.
    #[error("layer {layer} has {got} inputs, but {expected} come from before it")]
    Chain {
        /// Which layer.
        layer: usize,
        /// Its inputs.
        got: usize,
        /// What it gets.
        expected: usize,
    },
    /// The last layer does not give an action.
    #[error("the last layer has {got} outputs, but an action has {expected}")]
    Outputs {
        /// Its outputs.
        got: usize,
        /// The numbers of an action.
        expected: usize,
    },
    /// A number that is none, or too large.
    #[error("layer {layer} has the number {value}: numbers are from -1e6 to 1e6")]
    Number {
        /// Which layer.
        layer: usize,
        /// The number.
        value: f64,
    },
}

/// A multilayer perceptron: the activation follows each layer but the last.
#[derive(Clone, Debug, PartialEq)]
pub struct Mlp {
    layers: Vec<Compiled>,
    activation: Activation,
    /// The width of its widest layer.
    width: usize,
}

/// A layer with its weights by input, so that the sums of all outputs are computed side by side, each in the order of
/// the inputs.
#[derive(Clone, Debug, PartialEq)]
struct Compiled {
    by_input: Vec<f64>,
    bias: Vec<f64>,
}

impl Mlp {
    /// The perceptron of `layers` with so many inputs and outputs.
    ///
    /// # Errors
    /// [`MlpError`] if they do not fit together.
    pub fn new(
        layers: &[Layer],
        activation: Activation,
        inputs: usize,
        outputs: usize,
    ) -> Result<Mlp, MlpError> {
        if !(1..=MAX_LAYERS).contains(&layers.len()) {
            return Err(MlpError::Count(layers.len()));
        }
        let mut expected = inputs;
        for (index, layer) in layers.iter().enumerate() {
            layer.check(index + 1, expected)?;
            expected = layer.bias.len();
        }
        if expected != outputs {
            return Err(MlpError::Outputs { got: expected, expected: outputs });
        }
        let width = layers.iter().map(|layer| layer.bias.len()).max().unwrap_or(0);
        Ok(Mlp { layers: layers.iter().map(Compiled::new).collect(), activation, width })
    }

    /// The activation between its layers.
    pub fn activation(&self) -> Activation {
        self.activation
    }

    /// Its layers, as they were given.
    pub fn layers(&self) -> Vec<Layer> {
        let layer = |layer: &Compiled| {
            let outputs = layer.bias.len();
            let row =
                |output| layer.by_input.iter().copied().skip(output).step_by(outputs).collect();
            Layer { weights: (0..outputs).map(row).collect(), bias: layer.bias.clone() }
        };
        self.layers.iter().map(layer).collect()
    }

    /// Its outputs, from -1 to 1, for `inputs`.
    pub fn evaluate(&self, inputs: &[f32], outputs: &mut [f32]) {
        let mut values: Vec<f64> = inputs.iter().copied().map(f64::from).collect();
        let mut sums = Vec::with_capacity(self.width);
        for (index, layer) in self.layers.iter().enumerate() {
            sums.clear();
            sums.extend_from_slice(&layer.bias);
            for (value, weights) in values.iter().zip(layer.by_input.chunks_exact(sums.len())) {
                for (sum, weight) in sums.iter_mut().zip(weights) {
                    *sum += value * weight;
                }
            }
            if index + 1 < self.layers.len() {
                sums.iter_mut().for_each(|sum| *sum = self.activation.of(*sum));
            }
            std::mem::swap(&mut values, &mut sums);
        }
        for (output, value) in outputs.iter_mut().zip(&values) {
            // Inputs of the raw observation may be as large as any number, so a sum may be infinite.
            *output = if value.is_nan() { 0.0 } else { value.clamp(-1.0, 1.0) as f32 };
        }
    }
}

impl Layer {
    fn check(&self, layer: usize, expected: usize) -> Result<(), MlpError> {
        let (inputs, outputs) = (self.weights.first().map_or(0, Vec::len), self.weights.len());
        let fits = |width| (1..=MAX_WIDTH).contains(&width);
        if !fits(inputs) || !fits(outputs) {
            return Err(MlpError::Width { layer, inputs, outputs });
        }
        if let Some(row) = self.weights.iter().position(|row| row.len() != inputs) {
            let got = self.weights[row].len();
            return Err(MlpError::Ragged { layer, row: row + 1, got, expected: inputs });
        }
        if self.bias.len() != outputs {
            return Err(MlpError::Bias { layer, got: self.bias.len(), expected: outputs });
        }
        if inputs != expected {
            return Err(MlpError::Chain { layer, got: inputs, expected });
        }
        let mut numbers = self.weights.iter().flatten().chain(&self.bias);
        match numbers.find(|value| !(-MAX_WEIGHT..=MAX_WEIGHT).contains(*value)) {
            Some(&value) => Err(MlpError::Number { layer, value }),
            None => Ok(()),
        }
    }
}

impl Compiled {
    fn new(layer: &Layer) -> Compiled {
        let inputs = layer.weights.first().map_or(0, Vec::len);
        let column = |input| layer.weights.iter().map(move |row: &Vec<f64>| row[input]);
        Compiled { by_input: (0..inputs).flat_map(column).collect(), bias: layer.bias.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer<const I: usize, const O: usize>(weights: [[f64; I]; O], bias: [f64; O]) -> Layer {
        Layer { weights: weights.map(|row| row.to_vec()).to_vec(), bias: bias.to_vec() }
    }

    fn evaluate(mlp: &Mlp, inputs: &[f32]) -> f32 {
        let mut outputs = [f32::NAN];
        mlp.evaluate(inputs, &mut outputs);
        outputs[0]
    }

    #[test]
    fn it_computes_what_its_layers_say() {
        let hidden = layer([[1.0, -2.0], [0.5, 0.25]], [0.1, -0.2]);
        let layers = [hidden, layer([[0.5, -1.0]], [0.05])];
        let tanh = Mlp::new(&layers, Activation::Tanh, 2, 1).unwrap();
        let expected = 0.5 * libm::tanh(0.3 - 0.8 + 0.1) - libm::tanh(0.15 + 0.1 - 0.2) + 0.05;
        assert!((f64::from(evaluate(&tanh, &[0.3, 0.4])) - expected).abs() < 1e-6);
        let relu = Mlp::new(&layers, Activation::Relu, 2, 1).unwrap();
        assert!((f64::from(evaluate(&relu, &[0.3, 0.4])) - (-0.05 + 0.05)).abs() < 1e-6);
        assert_eq!(tanh.layers(), layers);
    }

    #[test]
    fn its_outputs_are_actions() {
        let huge = Mlp::new(&[layer([[1e6, -1e6]], [0.0])], Activation::Tanh, 2, 1).unwrap();
        assert_eq!(evaluate(&huge, &[1.0, 0.0]), 1.0);
        assert_eq!(evaluate(&huge, &[0.0, f32::INFINITY]), -1.0);
        assert_eq!(evaluate(&huge, &[f32::INFINITY, f32::INFINITY]), 0.0);
    }

    #[test]
    fn layers_that_do_not_fit_are_refused() {
        let good = layer([[1.0, 2.0]], [0.0]);
        let mlp = |layers: &[Layer], inputs, outputs| {
            Mlp::new(layers, Activation::Tanh, inputs, outputs).unwrap_err().to_string()
        };
        let mut ragged = layer([[1.0, 2.0], [3.0, 4.0]], [0.0, 0.0]);
        ragged.weights[1].pop();
        let unbiased = Layer { bias: vec![], ..good.clone() };
        let nan = layer([[1.0, f64::NAN]], [0.0]);
        let one = std::slice::from_ref;
        for (error, expected) in [
            (mlp(&[], 2, 1), "there are 0 layers"),
            (mlp(one(&Layer { weights: vec![], bias: vec![] }), 2, 1), "layer 1 has 0 inputs"),
            (mlp(one(&ragged), 2, 2), "row 2 of the weights of layer 1 has 1 numbers, not 2"),
            (mlp(one(&unbiased), 2, 1), "layer 1 has 0 biases for 1 outputs"),
            (mlp(one(&good), 3, 1), "layer 1 has 2 inputs, but 3 come from before it"),
            (mlp(one(&good), 2, 2), "the last layer has 1 outputs, but an action has 2"),
            (mlp(&[good.clone(), good.clone()], 2, 1), "layer 2 has 2 inputs, but 1 come"),
            (mlp(one(&nan), 2, 1), "layer 1 has the number NaN"),
        ] {
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
